// Spaces that are taken from decoded texts ("clean_up_tokenization_spaces"). For text's own use.
#pragma once

#include <string>
#include <string_view>

namespace headlight::text {

// The whole text as transformers cleans it: no space before marks and what English puts after an
// apostrophe.
std::string cleaned_up(std::string text);

// The same for a text that comes piece by piece: what is certain of it now. `waiting` is what came
// before and may still change with what comes next.
std::string clean_up(std::string& waiting, std::string_view more);

}  // namespace headlight::text
