// The word that somebody who mistyped one had in mind.
#pragma once

#include <span>
#include <string_view>

namespace headlight::base {

// The candidate that takes the fewest edits (a letter inserted, left out, replaced, or two
// neighbours exchanged); the first of equals. There is at least one candidate.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace headlight::base
