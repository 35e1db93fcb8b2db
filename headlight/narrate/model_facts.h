// What is told of a model: facts, a line each, and its configuration.
#pragma once

#include <string>

#include "headlight/narrate/catalogue.h"
#include "headlight/recipes/recipes.h"

namespace headlight::narrate {

// All in ended lines, labels in the catalogue's language. Of a model folder:
std::string model_text(const Catalogue& catalogue, const recipes::ModelInformation& information);
// Of a GGUF file; long settings are shortened, arrays counted.
std::string gguf_text(const Catalogue& catalogue, const recipes::GgufInformation& information);
// Of a folder that was written: where it is, what model, what its numbers are stored as, its size.
std::string converted_text(const Catalogue& catalogue, const recipes::ConvertedModel& converted);

}  // namespace headlight::narrate
