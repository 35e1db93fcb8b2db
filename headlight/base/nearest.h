// What somebody had in mind who mistyped a word, or gave a number that does not divide.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headlight::base {

// The candidate that takes the fewest edits (a letter inserted, left out, replaced, or two
// neighbours exchanged); the first of equals. Only when it is near: an edit for every three letters
// at most, or one is the beginning of the other.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates);

// "; the nearest is attend", for the end of a message; empty when none is near.
std::string nearest_hint(std::string_view word, std::span<const std::string_view> candidates);

// "4 or 6" for 24 and 5: the divisors next to one that is none, below and above. Both at least 1.
std::string nearest_divisors(int64_t number, int64_t wanted);

}  // namespace headlight::base
