// How terms show in sentences: English plurals, and stems to which suffixes are put elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/narrate/narrate.h"

namespace headlight::test {

// Whether an English text uses the term, in the singular or the plural.
bool uses_english_term(const std::string& key, const std::string& text, const std::string& term);
// Whether a text uses the language's term, with whatever suffixes.
bool uses_term(std::string_view language, const std::string& text, const std::string& term);
// A word that would be the term if dots, cedillas and the like did not count; "" when there is
// none.
std::string misspelled(std::string_view language, const std::string& text, const std::string& term);
// Whether a digit, the separator and a digit follow each other.
bool has_number_with(const std::string& text, char separator);

// The keys of what operations speak of: ingredients, terms, combinations, the way of gradients.
std::vector<std::string> rule_keys();
// The keys of all mistakes that exercises name.
std::vector<std::string> mistake_keys();
// The keys of all variants.
const std::vector<std::string>& variant_keys();

std::vector<std::string> parts_of(const std::string& text, char separator);
// Of a line of a Markdown table.
std::vector<std::string> table_cells(const std::string& line);
// The key under which the catalogue has this term; "" when there is none.
std::string key_of_term(const narrate::Catalogue& catalogue, const std::string& term);

}  // namespace headlight::test
