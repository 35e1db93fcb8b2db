// Words as people read them: what an id is called, and which words a vocabulary does not have.
#pragma once

#include <string>
#include <vector>

#include "headlight/text/tokenizer.h"

namespace headlight::text {

// The text of one id, or the token as files write it where it is no whole text. Ids that the
// tokenizer does not have are their own names.
std::string label_of(const Tokenizer& tokenizer, int64_t id);

// The words of a text that become the unknown token, each once, in order. With `special`, texts of
// special tokens are known.
std::vector<std::string> unknown_words(const Tokenizer& tokenizer, const std::string& text,
                                       bool special = false);
// For an error: `2 words are not in the vocabulary: "fly", "high"`, and where there are many, the
// first five.
std::string unknown_text(const std::vector<std::string>& words);

}  // namespace headlight::text
