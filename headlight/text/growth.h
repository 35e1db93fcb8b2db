// How long a tokenizer may make a text before it is split. For text's own use.
#pragma once

#include <string>

#include "headlight/base/base.h"

namespace headlight::text {

// Throws Error(bad_input) when a text has more bytes than that.
inline void check_growth(const std::string& text, size_t longest) {
  if (text.size() <= longest) return;
  throw base::Error(base::ErrorKind::bad_input, "text", "",
                    "the tokenizer makes more than " + std::to_string(longest) + " bytes of it");
}

}  // namespace headlight::text
