// How a text is split into pieces that are tokenized one by one. For text's own use.
#pragma once

#include <functional>
#include <string_view>

#include "headlight/text/component.h"

namespace headlight::text {

// Takes the pieces in their order.
using PieceTaker = std::function<void(std::string_view)>;

class Splitter {
 public:
  explicit Splitter(const Component& component);

  // Only byte-level BPE takes byte-level pieces, and it takes no other.
  bool is_byte_level() const { return kind_ == Kind::byte_level; }
  bool is_by_character() const { return kind_ == Kind::characters; }
  // A space that the text is to begin with.
  bool adds_space() const { return adds_space_; }
  // Pieces of the text; what is only white space between them is left out, except by the byte-level
  // and the character kind, whose pieces are all of the text.
  void split(std::string_view text, const PieceTaker& take) const;

 private:
  enum class Kind { byte_level, white_space, words, bert, characters };
  Kind kind_ = Kind::white_space;
  bool adds_space_ = false;
};

// GPT-2's pieces: contractions, letters, numbers, other marks, each with a space before it, and
// white space.
void split_as_gpt2(std::string_view text, const PieceTaker& take);

// The component whose pieces are single code points.
io::Json character_splitter();

}  // namespace headlight::text
