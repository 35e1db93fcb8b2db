// Characters as Hugging Face's `tokenizers` knows them. Its tables are older than others: Unicode 9
// for normal forms and combining marks, Unicode 8 for categories. To it, what was assigned later is
// neither mark nor punctuation and stays as it is in every normal form. For text's own use.
#pragma once

#include <string>
#include <string_view>

#include "headlight/text/unicode.h"

namespace headlight::text::hugging_face {

std::string normalized(std::string_view text, NormalForm form);
bool is_combining_mark(char32_t code_point);      // what StripAccents takes away
bool is_nonspacing_mark(char32_t code_point);     // what BertNormalizer takes away as an accent
bool is_punctuation(char32_t code_point);         // ASCII's symbols are not among it
bool is_control_or_private(char32_t code_point);  // controls, formats, private use

}  // namespace headlight::text::hugging_face
