// Regular expressions from files. For text's own use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "headlight/text/component.h"

namespace headlight::text {

// Takes stretches of a text in their order: from byte, to byte, and whether the pattern is there.
using StretchTaker = std::function<void(size_t begin, size_t end, bool is_match)>;

// A pattern of a component: {"String": a text} or {"Regex": an expression}. It may be used from
// several threads. Errors of the expression are Error(bad_input) about the component.
class Pattern {
 public:
  explicit Pattern(const Component& component);

  // All of the text, as stretches where the pattern is and where it is not. Throws Error(bad_input)
  // where an expression takes more steps than a small multiple of the text's length; each letter
  // that it reads ahead is one.
  void divide(std::string_view text, const StretchTaker& take) const;
  // The text with `content` wherever the pattern is. Throws Error(bad_input) when it would have
  // more than `longest` bytes.
  std::string replaced(std::string_view text, std::string_view content, size_t longest) const;

 private:
  class Expression;

  void divide_by_text(std::string_view text, const StretchTaker& take) const;

  std::string plain_ = {};
  std::shared_ptr<const Expression> expression_ = {};
};

}  // namespace headlight::text
