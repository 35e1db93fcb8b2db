// Texts of single tokens.
#include "apps/server/openai/token_texts.h"

#include <algorithm>

namespace headlight::server::openai {
namespace {

std::string codes_of(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string codes;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    codes += {'\\', 'x', kDigits[value >> 4], kDigits[value & 15]};
  }
  return codes;
}

}  // namespace

bool TokenTexts::adds_text(int64_t id) const {
  return tokenizer_ == nullptr || (id < tokenizer_->size() && !tokenizer_->is_special(id));
}

TokenText TokenTexts::text_of(int64_t id, bool is_first) const {
  if (tokenizer_ == nullptr) {
    const std::string text = (is_first ? "" : ",") + std::to_string(id);
    return {.token = text, .bytes = text};
  }
  if (id >= tokenizer_->size()) return {.token = "<" + std::to_string(id) + ">"};
  if (tokenizer_->is_special(id)) return {.token = tokenizer_->token(id)};
  std::string bytes = tokenizer_->bytes(id, is_first);
  const bool is_text = io::valid_utf8_length(bytes) == bytes.size();
  return {.token = is_text ? bytes : codes_of(bytes), .is_text = is_text, .bytes = bytes};
}

std::string TokenTexts::joined(const std::vector<int64_t>& ids) const {
  if (tokenizer_ == nullptr) {
    std::string text;
    for (const int64_t id : ids) text += text_of(id, text.empty()).token;
    return text;
  }
  std::vector<int64_t> known;
  std::ranges::copy_if(ids, std::back_inserter(known),
                       [&](int64_t id) { return id < tokenizer_->size(); });
  return tokenizer_->decode(known, {.special = false});
}

size_t code_points(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

}  // namespace headlight::server::openai
