// TokenTexts: what ids are as text, in models with a tokenizer and in those without one.
#pragma once

#include <optional>
#include <string>

#include "headlight/infer/infer.h"

namespace headlight::server::openai {

// A token as answers show it.
struct TokenText {
  std::string token;  // the text it adds, or else its name; of bytes that are not UTF-8 their codes
  bool is_text = true;  // false: `token` is such codes, "\xe2\x80"
  // What it adds to the text of an answer; nothing of special tokens, which are left out there, and
  // of ids that the tokenizer does not have.
  std::optional<std::string> bytes = {};
};

// A value. Without a tokenizer a text is its ids with commas between them.
class TokenTexts {
 public:
  explicit TokenTexts(const text::Tokenizer* tokenizer) : tokenizer_(tokenizer) {}

  // As the first token of a text or as a later one.
  TokenText text_of(int64_t id, bool is_first) const;
  bool adds_text(int64_t id) const;
  // All ids together, without special tokens.
  std::string joined(const std::vector<int64_t>& ids) const;
  const text::Tokenizer* tokenizer() const noexcept { return tokenizer_; }

 private:
  const text::Tokenizer* tokenizer_;
};

// How many letters: code points of UTF-8.
size_t code_points(std::string_view text);

}  // namespace headlight::server::openai
