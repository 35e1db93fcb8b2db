// The alphabet, computed once.
#include "headlight/text/byte_alphabet.h"

#include <array>

#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr char32_t kFirstOther = 0x100;

constexpr bool is_printable(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<std::string, 256> characters;
  std::string order;                // bytes by their characters' code points
  std::array<int, 512> bytes = {};  // by code point; -1 where there is none

  Alphabet() {
    bytes.fill(-1);
    for (const bool printable : {true, false}) {
      char32_t other = kFirstOther;
      for (int byte = 0; byte < 256; ++byte) {
        if (is_printable(byte) != printable) continue;
        const char32_t code_point = printable ? static_cast<char32_t>(byte) : other++;
        append(characters[static_cast<size_t>(byte)], code_point);
        bytes[code_point] = byte;
        order += static_cast<char>(byte);
      }
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet kAlphabet;
  return kAlphabet;
}

}  // namespace

const std::string& byte_character(unsigned char byte) { return alphabet().characters[byte]; }
const std::string& bytes_in_order() { return alphabet().order; }

std::optional<std::string> bytes_of_token(std::string_view token) {
  const auto& bytes = alphabet().bytes;
  std::string result;
  for (size_t at = 0; at < token.size();) {
    const CodePoint point = code_point_at(token, at);
    if (point.value >= bytes.size() || bytes[point.value] < 0) return std::nullopt;
    result += static_cast<char>(bytes[point.value]);
    at += point.length;
  }
  return result;
}

}  // namespace headlight::text
