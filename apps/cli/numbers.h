// Numbers of the command line. Reading throws Error(usage) that names the option and the range;
// nothing but the number may stand in the text, and nan and infinity are no numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::cli {

// Both ends belong to it.
template <class T>
struct Range {
  T lowest;
  T highest;
};

int64_t integer_of(std::string_view option, std::string_view text, Range<int64_t> range);
double real_of(std::string_view option, std::string_view text, Range<double> range);
// "3,2": whole numbers with commas between them.
std::vector<int64_t> integers_of(std::string_view option, std::string_view text,
                                 Range<int64_t> range);

// With a fixed number of digits after the point; the same in every locale.
std::string fixed_text(double number, int digits);

}  // namespace headlight::cli
