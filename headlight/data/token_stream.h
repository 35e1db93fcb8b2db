// TokenStream: the ids of a whole text in little memory; and where they come from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/text/text.h"

namespace headlight::data {

// Two bytes an id for vocabularies of up to 65,536 tokens, four for larger ones.
class TokenStream {
 public:
  explicit TokenStream(int64_t vocabulary_size);

  int64_t size() const noexcept { return static_cast<int64_t>(narrow_.size() + wide_.size()); }
  int64_t vocabulary_size() const noexcept { return vocabulary_size_; }
  // Throws Error for an id that is not in [0, vocabulary_size).
  void append(std::span<const int64_t> ids);
  // Ids [first, first + into.size()), which must be there.
  void copy(int64_t first, std::span<int64_t> into) const;

 private:
  int64_t vocabulary_size_;
  std::vector<uint16_t> narrow_;
  std::vector<uint32_t> wide_;
};

// The ids of the text, the same as the tokenizer gives for all of it at once. The text is encoded
// in pieces where that makes no difference, so that no second copy of it is as large as it is.
// Throws Error(bad_input) with `name` (a path) and the line for what no token stands for.
TokenStream tokenize(const text::Tokenizer& tokenizer, std::string_view text,
                     const std::string& name);

// The first nine tenths of the characters (code points), rounded down, and the rest.
struct TextSplit {
  std::string_view train;
  std::string_view valid;
};
TextSplit split_text(std::string_view text);

}  // namespace headlight::data
