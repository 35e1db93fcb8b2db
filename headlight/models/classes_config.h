// What config.json says of classes: id2label, num_labels, problem_type. Inside models only.
#pragma once

#include "headlight/models/classifier.h"
#include "headlight/models/config_reader.h"

namespace headlight::models {

// Whether "architectures" names one "…ForSequenceClassification".
bool names_classifier(const io::Json& config);
// The classes of such a folder; nothing of others. Without id2label there are two labels, or
// num_labels, called LABEL_0 and so on. Throws Error(bad_input) for labels that are not numbered
// from 0 on without holes, for counts and numbers that disagree, and for an unknown problem_type.
std::optional<Classes> read_classes(const ConfigReader& reader);
// Adds the members that read_classes reads, in place of the "architectures" that are there.
void write_classes(io::Json::Object& config, const Classes& classes);

}  // namespace headlight::models
