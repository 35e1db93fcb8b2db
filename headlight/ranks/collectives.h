// Sums over all ranks in the order of a binary tree, each rank owning a share of the result, and
// the way back: everybody gets all shares.
#pragma once

#include <functional>

#include "headlight/ranks/group.h"
#include "headlight/ranks/shares.h"

namespace headlight::ranks {

// Stretches of memory, read one after the other as one vector.
class Scattered {
 public:
  void add(std::span<float> part);
  int64_t size() const noexcept { return ends_.empty() ? 0 : ends_.back(); }

  // The stretches of [range.first, range.end), in order.
  std::vector<std::span<float>> stretches(const Range& range) const;

 private:
  std::vector<std::span<float>> parts_;
  std::vector<int64_t> ends_;
};

// mine[i] += theirs[i], rounded once.
using AddTo = std::function<void(std::span<float> mine, std::span<const float> theirs)>;
// Whether the ranks [first, first + count) all have nothing to add: then the others' numbers are
// taken as they are.
using HasNothing = std::function<bool(int first, int count)>;

// `values` has the shares' size. Afterwards its part shares.of(rank) holds the sums; the rest is
// unspecified.
void reduce_scatter(Group& group, const Shares& shares, const Scattered& values, const AddTo& add,
                    const HasNothing& has_nothing);
// Each rank's part shares.of(rank) to all others.
void all_gather(Group& group, const Shares& shares, const Scattered& values);

}  // namespace headlight::ranks
