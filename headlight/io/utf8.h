// UTF-8: what is well-formed, and text from a file inside a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headlight::io {

// Bytes of the code point that starts at `at`: 1 to 4, or 0 when the bytes there are not UTF-8
// (overlong forms, surrogates, past U+10FFFF, cut short). `at` is within the text.
size_t code_point_length(std::string_view text, size_t at);

// The first byte that is not part of a code point; the text's size when all are.
size_t valid_utf8_length(std::string_view text);

// The text in quotes, cut to a message's length; control characters and what is not UTF-8 become
// '?'.
std::string in_quotes(std::string_view text);

}  // namespace headlight::io
