// Who reads: the terminal behind standard output, the language of explanations, and what the reader
// types to start the program.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "apps/cli/program/arguments.h"
#include "headlight/narrate/narrate.h"

namespace headlight::cli {

// 80 columns where standard output is no terminal or does not say; colours only on a terminal that
// has them, and not with NO_COLOR.
narrate::TextStyle style_of_output();
// The same of a document that --out may send to a file, which has neither a width nor colours.
narrate::TextStyle style_of_document(const Arguments& arguments);
// --format; or else the one that --out ends with, as page.html does; or else the first.
std::string document_format(const Arguments& arguments, std::span<const std::string_view> formats);
// Error(usage) for a page that would go to a terminal; `file` is a name to write it to.
void check_page_has_file(const Arguments& arguments, const std::string& file);
// How wide a table may be: as the terminal is, and as it likes where programs read it.
int64_t columns_of_table();

// Columns of the terminal behind standard error, asked anew each time, since it may be resized; 80
// where it does not say.
int64_t columns_of_errors();

// Whether the terminal knows no more than lines, as TERM=dumb says; so does one that says nothing.
bool is_dumb_terminal();

// How the program was started: as ./run says in HEADLIGHT_STARTED_AS, or "headlight".
std::string program_name();
// A message with its commands, such as `headlight train --help`, as they are to be typed.
std::string in_its_name(std::string_view message);

// --lang or its variable; or else that of the locale (LC_ALL, LC_MESSAGES, LANG: the first that is
// set) where it is one of the catalogue's; or else English.
std::string chosen_language(const Arguments& arguments);
const narrate::Catalogue& catalogue_of(const Arguments& arguments);
// "en|tr|az|ko": all there are.
const std::string& language_choices();

}  // namespace headlight::cli
