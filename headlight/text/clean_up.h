// Spaces that are taken from decoded texts ("clean_up_tokenization_spaces"). For text's own use.
#pragma once

#include <array>
#include <string>

namespace headlight::text {

// Of a text that comes piece by piece, what each replacement still waits with: a few bytes that may
// begin what it looks for.
using Uncleaned = std::array<std::string, 10>;

// The whole text as transformers cleans it: no space before marks and what English puts after an
// apostrophe.
std::string cleaned_up(std::string text);

// The same piece by piece: what is certain of the text when `more` of it has come.
std::string clean_up(Uncleaned& waiting, std::string more);
// What is left of it when the last piece has come.
std::string finish_clean_up(Uncleaned& waiting, std::string last);

}  // namespace headlight::text
