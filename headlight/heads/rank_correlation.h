// Whether two measurements of the same things go together.
#pragma once

#include <span>

namespace headlight::heads {

// Pearson's, from -1 to 1; nan where either does not vary. Both throw Error(bad_input) for
// different counts.
double correlation(std::span<const double> a, std::span<const double> b);

// Spearman's: the correlation of their ranks. Equals share the mean of theirs. Nan also where
// something is no number and so has no rank.
double rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace headlight::heads
