// What transformers knows of a tokenizer by its class, which its files do not say. For text's own
// use.
#pragma once

#include <map>
#include <string>

#include "headlight/io/io.h"

namespace headlight::text {

// That of no tokenizer in particular, which takes a tokenizer.json as it is.
inline constexpr const char* kGenericClass = "TokenizersBackend";

// The class that transformers takes, without "Fast" at its end: the one that the folder names, or
// that of its model's type, or the generic one for types whose folders name wrong ones. Empty:
// nothing says.
std::string chosen_class(const std::string& named, const std::string& model_type);

// Tokens by role that a class has where no file names them.
const std::map<std::string, std::string>& usual_tokens(const std::string& class_name);

// Of a byte-level BPE whose tokenizer.json is missing: what the class does to a text before it is
// split, and how it splits it. Throws Error(bad_input) for a class that does something else.
struct ByteLevelClass {
  io::Json normalizer;
  io::Json pre_tokenizer;
  bool is_framed = false;  // by RoBERTa's <s> and </s>
};
ByteLevelClass byte_level_class(const std::string& class_name, bool adds_prefix_space,
                                const std::string& path);

}  // namespace headlight::text
