// Words and numbers as people type them. Reading a number throws Error(usage) that names where it
// was given and the range, as far as a reader can use it; nothing but the number may stand in the
// text, and nan and infinity are no numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::recipes {

// Both ends belong to it.
template <class T>
struct Range {
  T lowest;
  T highest;
};

int64_t integer_of(std::string_view source, std::string_view text, Range<int64_t> range);
double real_of(std::string_view source, std::string_view text, Range<double> range);
// "3,2": whole numbers with commas between them.
std::vector<int64_t> integers_of(std::string_view source, std::string_view text,
                                 Range<int64_t> range);

// For a sentence: 1,048,576 and 3.4e+38.
std::string readable_number(int64_t number);
std::string readable_number(double number);

// With a fixed number of digits after the point; the same in every locale.
std::string fixed_text(double number, int digits);

// A to Z only.
std::string in_small_letters(std::string_view word);

// The pieces between separators; "a,,b" has an empty one, "" is one.
std::vector<std::string> split_words(std::string_view text, char separator);

}  // namespace headlight::recipes
