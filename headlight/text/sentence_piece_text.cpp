// SentencePiece's normalisation: replacements, spaces and the space in front.
#include "headlight/text/sentence_piece_text.h"

#include "headlight/text/growth.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

std::optional<Charsmap> read_charsmap(const Component& component) {
  const std::string encoded = component.text("precompiled_charsmap", "");
  if (encoded.empty()) return std::nullopt;
  const std::optional<std::string> bytes = from_base64(encoded);
  if (!bytes) component.refuse("\"precompiled_charsmap\" is not base64");
  return Charsmap(*bytes, component.name());
}

std::optional<Trie> read_kept(const Component& component) {
  const io::Json* list = component.find("user_defined_symbols");
  if (list == nullptr || !list->array() || list->array()->empty()) return std::nullopt;
  std::vector<std::pair<std::string_view, int32_t>> texts;
  for (const io::Json& text : *list->array()) {
    if (!text.text() || text.text()->empty()) {
      component.refuse("\"user_defined_symbols\" are not texts");
    }
    texts.emplace_back(*text.text(), static_cast<int32_t>(texts.size()));
  }
  return Trie(std::move(texts), component.name());
}

}  // namespace

SentencePieceText::SentencePieceText(const Component& component)
    : charsmap_(read_charsmap(component)),
      kept_(read_kept(component)),
      adds_prefix_(component.flag("add_dummy_prefix", true)),
      at_end_(component.flag("treat_whitespace_as_suffix", false)),
      removes_spaces_(component.flag("remove_extra_whitespaces", true)),
      space_(component.flag("escape_whitespaces", true) ? kSpaceSymbol : " ") {}

Charsmap::Match SentencePieceText::first_of(std::string_view text) const {
  if (kept_) {
    if (const size_t length = kept_->longest(text)) return {length, text.substr(0, length)};
  }
  if (charsmap_) {
    if (const auto match = charsmap_->longest(text)) return *match;
  }
  const size_t length = code_point_at(text, 0).length;
  return {length, text.substr(0, length)};
}

std::string SentencePieceText::normalized(std::string_view text, size_t longest) const {
  while (removes_spaces_ && !text.empty()) {
    const Charsmap::Match first = first_of(text);
    if (first.text != " ") break;
    text.remove_prefix(first.length);
  }
  std::string result;
  if (text.empty()) return result;
  result.reserve(text.size() + text.size() / 2);
  if (adds_prefix_ && !at_end_) result += space_;
  bool is_after_space = removes_spaces_;
  while (!text.empty()) {
    Charsmap::Match first = first_of(text);
    text.remove_prefix(first.length);
    while (is_after_space && first.text.starts_with(' ')) first.text.remove_prefix(1);
    for (const char c : first.text) {
      if (c == ' ') {
        result += space_;
      } else {
        result += c;
      }
    }
    if (!first.text.empty()) is_after_space = first.text.ends_with(' ');
    if (!removes_spaces_) is_after_space = false;
    check_growth(result, longest);
  }
  while (removes_spaces_ && result.ends_with(space_)) result.resize(result.size() - space_.size());
  if (adds_prefix_ && at_end_) result += space_;
  return result;
}

}  // namespace headlight::text
