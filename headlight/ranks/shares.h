// Shares: how a long vector is cut among ranks, by halving it again and again.
#pragma once

#include <cstdint>
#include <vector>

namespace headlight::ranks {

struct Range {
  int64_t first = 0;
  int64_t end = 0;
  int64_t size() const noexcept { return end - first; }
};

// Bit k of a rank says which half it keeps at level k: so ranks at distance 1, then 2, then 4
// exchange halves, and sums over ranks have the order of a binary tree over their numbers.
class Shares {
 public:
  // The vector may be cut at any of `ends`, which increase; the last is its length. `ranks` is a
  // power of two.
  Shares(std::vector<int64_t> ends, int ranks);

  int64_t size() const noexcept { return ends_.empty() ? 0 : ends_.back(); }
  // What a rank keeps after so many halvings.
  Range at(int rank, int level) const;
  // What it owns in the end.
  Range of(int rank) const;

 private:
  int64_t middle(const Range& range) const;

  std::vector<int64_t> ends_;
  int ranks_ = 1;
};

}  // namespace headlight::ranks
