// From number words as people type them to those that a model reads. For data's own use.
#pragma once

#include "headlight/io/io.h"

namespace headlight::data {

// As tokenizer.json writes it: capital letters become small ones, white space one space between
// words and none around them, commas and full stops white space, dashes hyphens; decomposed letters
// are composed; Turkish and Azerbaijani words that were typed without dots, cedillas and breves,
// or in capitals, whose I may be either i, get their letters back ("KIRK", "kirk": kırk).
io::Json number_normalizer();

}  // namespace headlight::data
