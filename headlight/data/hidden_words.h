// Words hidden in a sequence of ids as BERT does it: about 15 % of them are to be predicted; of
// these 80 % are replaced by the mask, 10 % by another word, and 10 % stay.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headlight/text/text.h"

namespace headlight::data {

struct HiddenWords {
  int64_t mask = 0;
  std::vector<int64_t> words = {};  // ids that may be hidden, or stand for a hidden one
  std::vector<bool> is_word = {};   // the same, by id
};
// All tokens but the special ones. Throws Error(bad_input) with `name` (a path) for a tokenizer
// that has no mask.
HiddenWords hidden_words(const text::Tokenizer& tokenizer, const std::string& name);

// Hides some of the ids, at least one where there is a word; targets become the words that were
// hidden, and -1 everywhere else. What is drawn depends on the key alone.
void hide_words(const HiddenWords& hidden, uint64_t key, std::span<int64_t> ids,
                std::span<int64_t> targets);

}  // namespace headlight::data
