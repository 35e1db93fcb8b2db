// Words as people read them: what an id is called, and which words a vocabulary does not have.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headlight/text/tokenizer.h"

namespace headlight::text {

// The text of one id. Where its bytes are no whole text, each byte that is none is written ⟨E2⟩, so
// that such tokens can be told apart; what has no text is the token as files write it. Ids that the
// tokenizer does not have are their own names.
std::string label_of(const Tokenizer& tokenizer, int64_t id);

// Which word each id belongs to, counted from 0: ids that go on with the word before them (letters
// and digits without a space between; "##ing") have its number. Special tokens stand alone.
std::vector<int64_t> word_numbers(const Tokenizer& tokenizer, std::span<const int64_t> ids);

// The words of a text that become the unknown token, each once, in order. With `special`, texts of
// special tokens are known.
std::vector<std::string> unknown_words(const Tokenizer& tokenizer, const std::string& text,
                                       bool special = false);
// For an error: `2 words are not in the vocabulary: "fly", "high"`, and where there are many, the
// first five.
std::string unknown_text(const std::vector<std::string>& words);

}  // namespace headlight::text
