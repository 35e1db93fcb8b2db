// How tokens become text again. For text's own use.
#pragma once

#include <string>
#include <string_view>

#include "headlight/text/component.h"

namespace headlight::text {

class Joiner {
 public:
  explicit Joiner(const Component& component);

  bool is_byte_level() const { return kind_ == Kind::byte_level; }
  // Appends what the token adds to a text, of which it is the first or not; bytes of the byte-level
  // kind may be parts of code points.
  void append_to(std::string& bytes, const std::string& token, bool is_first) const;

 private:
  enum class Kind { byte_level, word_piece, fused, spaced };
  Kind kind_ = Kind::spaced;
  std::string prefix_;    // of tokens that go on with a word
  bool is_tidy_ = false;  // no space before . , ? and !
};

}  // namespace headlight::text
