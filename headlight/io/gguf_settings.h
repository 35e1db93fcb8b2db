// The settings of a GGUF file. For io's own use.
#pragma once

#include "headlight/io/byte_reader.h"
#include "headlight/io/gguf.h"

namespace headlight::io {

// Reads `count` settings: a key, a type and a value each. Bounded in their number, in the elements
// of all arrays together and in how deep arrays are nested.
Gguf::Settings read_gguf_settings(ByteReader& reader, uint64_t count);

// A text with its length before it; over `limit` bytes it is refused. `part` is for errors.
std::string read_gguf_text(ByteReader& reader, uint64_t limit, std::string_view part);

}  // namespace headlight::io
