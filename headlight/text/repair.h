// Bytes that come in pieces as UTF-8. For text's own use.
#pragma once

#include <string>

namespace headlight::text {

// Takes from the front of `bytes` what is certain: whole code points, and U+FFFD for each longest
// beginning of a code point that does not go on as it must. A beginning at the end of `bytes` stays
// there, since its rest may come.
std::string take_utf8(std::string& bytes);
// The same with U+FFFD for each byte of a beginning that does not go on as it must.
std::string take_utf8_by_bytes(std::string& bytes);

}  // namespace headlight::text
