// How byte-level tokenizers write bytes as visible characters: printable ones of Latin-1 as
// themselves, the others as U+0100, U+0101, … For text's own use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headlight::text {

// The character that stands for a byte, in UTF-8.
const std::string& byte_character(unsigned char byte);
// All bytes in the order of their characters.
const std::string& bytes_in_order();
// The bytes that a token stands for; nothing when one of its characters stands for no byte.
std::optional<std::string> bytes_of_token(std::string_view token);

}  // namespace headlight::text
