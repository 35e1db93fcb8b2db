// Search without going back in the text.
#include "headlight/text/jinja/text_search.h"

namespace headlight::text::jinja {

TextSearch::TextSearch(std::string_view sought, Direction direction, Meter& meter)
    : sought_(sought), direction_(direction) {
  meter.make(sought.size() * sizeof(uint32_t));
  borders_.reserve(sought.size());
  for (size_t i = 0; i < sought.size(); ++i) {
    const size_t before = i == 0 ? 0 : matched_with(borders_[i - 1], letter(sought_, i));
    borders_.push_back(static_cast<uint32_t>(before));
  }
}

// So many letters match, and one more is read.
size_t TextSearch::matched_with(size_t matched, char next) const {
  while (matched > 0 && letter(sought_, matched) != next) matched = borders_[matched - 1];
  return letter(sought_, matched) == next ? matched + 1 : 0;
}

size_t TextSearch::find(std::string_view text) const {
  const bool from_left = direction_ == Direction::from_left;
  if (sought_.empty()) return from_left ? 0 : text.size();
  size_t matched = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    matched = matched_with(matched, letter(text, i));
    if (matched == sought_.size()) return from_left ? i + 1 - matched : text.size() - 1 - i;
  }
  return std::string_view::npos;
}

}  // namespace headlight::text::jinja
