// How texts are split before BPE, by the names that GGUF files give to it ("tokenizer.ggml.pre").
// For text's own use.
#pragma once

#include <string>

#include "headlight/io/io.h"

namespace headlight::text {

struct GgufSplitting {
  io::Json normalizer = {};
  io::Json pre_tokenizer = {};
  bool ignores_merges = false;  // for pieces that are tokens
  bool adds_begin = false;      // where the file does not say
  bool hides_words = false;     // the token for a hidden word takes the space before it with it
};

// `adds_space`: a space is put before a text. `name` is for errors. Throws Error(bad_input) with
// the names that are known.
GgufSplitting gguf_splitting(const std::string& splitting, bool adds_space,
                             const std::string& name);

}  // namespace headlight::text
