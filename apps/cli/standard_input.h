// Standard input: where texts come from when no option gives one.
#pragma once

#include <string>

namespace headlight::cli {

// All of it. Throws Error(bad_input) when it cannot be read or is longer than 1 GiB.
std::string read_standard_input();

}  // namespace headlight::cli
