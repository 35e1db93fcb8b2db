// TextSearch: where a text stands in others. For text's own use.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "headlight/text/jinja/meter.h"

namespace headlight::text::jinja {

// Takes time for the lengths of both texts, where std::string::find may take their product (a
// thousand letters a and a b, among a million letters a). What is sought must outlive it.
class TextSearch {
 public:
  enum class Direction { from_left, from_right };

  TextSearch(std::string_view sought, Direction direction, Meter& meter);

  // Where the first from that side begins; npos: there is none.
  size_t find(std::string_view text) const;

 private:
  char letter(std::string_view text, size_t index) const {
    return text[direction_ == Direction::from_left ? index : text.size() - 1 - index];
  }
  size_t matched_with(size_t matched, char next) const;

  std::string_view sought_;
  Direction direction_;
  // How much of its own beginning each beginning ends with: so much still matches when the next
  // letter does not (Knuth, Morris and Pratt).
  std::vector<uint32_t> borders_;
};

}  // namespace headlight::text::jinja
