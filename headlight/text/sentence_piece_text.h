// What SentencePiece does to a text before it is tokenized. For text's own use.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headlight/text/charsmap.h"
#include "headlight/text/component.h"
#include "headlight/text/trie.h"

namespace headlight::text {

// How SentencePiece writes a space.
inline constexpr std::string_view kSpaceSymbol = "\u2581";

class SentencePieceText {
 public:
  explicit SentencePieceText(const Component& component);

  // Throws Error(bad_input) when it would have more than `longest` bytes.
  std::string normalized(std::string_view text, size_t longest) const;

 private:
  // What a beginning of the text becomes, and how long it is.
  Charsmap::Match first_of(std::string_view text) const;

  std::optional<Charsmap> charsmap_ = {};
  std::optional<Trie> kept_ = {};  // pieces that stay as they are
  bool adds_prefix_ = true;        // a space before the text, or behind it
  bool at_end_ = false;
  bool removes_spaces_ = true;  // but one of each run, and those at both ends
  std::string_view space_ = kSpaceSymbol;
};

}  // namespace headlight::text
