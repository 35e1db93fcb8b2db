// The word that somebody who mistyped one had in mind.
#pragma once

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

}  // namespace headlight::base
