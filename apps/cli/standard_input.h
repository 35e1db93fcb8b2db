// Standard input: where texts come from when no option gives one.
#pragma once

#include <cstddef>
#include <string>

namespace headlight::cli {

// All of it. Throws Error(bad_input) when it cannot be read or is longer than 1 GiB.
std::string read_standard_input();
// What has come, waiting for a first byte; nothing at the end.
std::string read_some_of_standard_input();
// Throws Error(bad_input) for more than 1 GiB.
void check_input_size(size_t bytes);

}  // namespace headlight::cli
