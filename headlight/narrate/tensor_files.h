// A matrix of a run as a file to keep: numbers with labels for spreadsheets, a picture for papers.
#pragma once

#include <string>

#include "headlight/narrate/catalogue.h"

namespace headlight::narrate {

// `name`: a tensor or one head of it, whose last two axes are more than one position long at most;
// a vector is one row. Throws Error(bad_input) for another, and for more than a million cells.

// Labels in the first row and column, numbers so that they read back the same; what is no number is
// empty.
std::string tensor_csv(const explain::Trace& trace, const std::string& name);
// A heat map with labels; of a large matrix the means of blocks, at most 256 a side.
std::string tensor_svg(const explain::Trace& trace, const Catalogue& catalogue,
                       const std::string& name);

}  // namespace headlight::narrate
