// Parts of vocabularies as files write them. For text's own use.
#pragma once

#include <string>
#include <utility>

#include "headlight/io/io.h"
#include "headlight/text/model.h"
#include "headlight/text/vocabulary.h"

namespace headlight::text {

// {"token": id, …}
Vocabulary::Entries vocabulary_entries(const io::Json::Object& object, const std::string& name);
// "a b"
std::pair<std::string, std::string> split_merge(std::string_view merge, const std::string& name);

}  // namespace headlight::text
