// Tokenizers from files.
#pragma once

#include <string>

#include "headlight/text/tokenizer.h"

namespace headlight::text {

// A folder that holds tokenizer.json, or vocab.json and merges.txt, or encoder.json and vocab.bpe,
// or vocab.txt, looked for in this order; or one of these files itself. Throws Error(bad_input).
Tokenizer load_tokenizer(base::FileSystem& files, const std::string& path);

// Whether the folder holds a tokenizer.
bool has_tokenizer(base::FileSystem& files, const std::string& directory);

// A tokenizer.json in memory; `name` is for errors.
Tokenizer parse_tokenizer(std::string_view json, const std::string& name);

}  // namespace headlight::text
