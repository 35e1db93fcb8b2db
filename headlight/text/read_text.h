// Text files.
#pragma once

#include <string>
#include <string_view>

#include "headlight/base/base.h"

namespace headlight::text {

// The bytes as UTF-8 without a byte order mark. `encoding` is a name such as cp1254, cp949, latin1
// or utf-16; an unknown one is Error(usage). Without one the bytes are UTF-8, and Error(bad_input)
// names the encoding that they look like. `name` (a path) is for errors.
std::string to_utf8(std::string bytes, const std::string& name, const std::string& encoding = "");

std::string read_text(base::FileSystem& files, const std::string& path,
                      const std::string& encoding = "");

// The encoding that bytes which are not UTF-8 look like; empty when they look like none.
std::string likely_encoding(std::string_view bytes);

}  // namespace headlight::text
