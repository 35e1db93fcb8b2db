// The machine that a measurement is of, in a report of it.
#pragma once

#include <string>

#include "headlight/io/io.h"
#include "headlight/narrate/narrate.h"

namespace headlight::cli {

// A label and what belongs to it, below each other where there are several lines of it.
std::string labelled(const std::string& label, const std::string& text, int64_t width);

std::string machine_text(const narrate::Catalogue& catalogue, int threads, int64_t width);
io::Json machine_json(int threads);

}  // namespace headlight::cli
