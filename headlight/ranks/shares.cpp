// Halving.
#include "headlight/ranks/shares.h"

#include <algorithm>
#include <bit>

namespace headlight::ranks {

Shares::Shares(std::vector<int64_t> ends, int ranks) : ends_(std::move(ends)), ranks_(ranks) {}

// The place to cut that is next to the middle; one end of the range where there is none inside.
int64_t Shares::middle(const Range& range) const {
  const int64_t wanted = range.first + range.size() / 2;
  const auto above = std::ranges::lower_bound(ends_, wanted);
  const int64_t high = above == ends_.end() ? range.end : std::min(*above, range.end);
  const int64_t low =
      above == ends_.begin() ? range.first : std::max(*std::prev(above), range.first);
  return wanted - low < high - wanted ? low : high;
}

Range Shares::at(int rank, int level) const {
  Range range{0, size()};
  for (int bit = 0; bit < level; ++bit) {
    const int64_t cut = middle(range);
    range = (rank >> bit & 1) == 0 ? Range{range.first, cut} : Range{cut, range.end};
  }
  return range;
}

Range Shares::of(int rank) const {
  return at(rank, std::countr_zero(static_cast<unsigned>(ranks_)));
}

}  // namespace headlight::ranks
