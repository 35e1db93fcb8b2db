// Shards: a step's sequences cut into a fixed number of runs, whose gradients are computed one by
// one and added in the order of a binary tree. Ranks own aligned runs of shards, so the sums are
// the same for any number of ranks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headlight/models/models.h"
#include "headlight/ranks/ranks.h"

namespace headlight::train {

constexpr int64_t kMaxShards = 1 << 16;
// Where nobody says how many: enough for small clusters, so that a run is the same on each.
int64_t default_shards(int ranks);
bool is_shard_count(int64_t shards);
// Said of fewer shards than ranks: "there are 4 ranks, and each needs a shard of a step".
std::string why_too_few_shards(int ranks);

// Rows [first, first + count) of one of the step's batches.
struct Slice {
  size_t batch = 0;
  int64_t first = 0;
  int64_t count = kAll;

  static constexpr int64_t kAll = -1;
};

// The step's batches, cut by the numbers of their sequences into runs that differ by at most one. A
// single shard takes each batch as a whole, when it needs it.
class ShardedStep {
 public:
  using Batches = std::function<models::Batch(size_t index)>;
  ShardedStep(Batches batches, size_t count, int64_t shards);

  int64_t shards() const noexcept { return static_cast<int64_t>(slices_.size()); }
  // The slices of a shard that have targets; in the order of the batches.
  const std::vector<Slice>& slices(int64_t shard) const {
    return slices_[static_cast<size_t>(shard)];
  }
  // Whether shards [first, first + count) have nothing to learn from.
  bool is_empty(int64_t first, int64_t count) const;

  models::Batch part(const Slice& slice) const;
  // What the slice's mean loss counts in the step's: batches count alike, targets within a batch
  // too.
  double weight(const Slice& slice) const;
  // That the model reads: of all batches, or of those that a single shard has taken.
  int64_t tokens() const noexcept { return tokens_; }

 private:
  void cut();
  int64_t targets_of(const Slice& slice) const;

  Batches fetch_;
  size_t count_;
  mutable int64_t tokens_ = 0;
  // Of more than one shard.
  std::vector<models::Batch> batches_;
  std::vector<int64_t> targets_;  // of each batch
  std::vector<std::vector<Slice>> slices_;
};

// How ranks add the gradients of others to theirs.
ranks::AddTo adding_numbers(const kernels::Execution& execution);

// The gradients of one or more shards: a tensor per parameter, not defined where none has arrived.
using GradientSet = std::vector<tensor::Tensor>;

// Adds sets in the order of a binary tree over the shards, which come in their order. Of a shard
// without targets nothing is added.
class GradientTree {
 public:
  explicit GradientTree(const kernels::Execution& execution) : execution_(execution) {}
  void add(GradientSet set, bool is_empty);
  // Of all that were added, a power of two; the set is empty where all were.
  GradientSet take();

 private:
  struct Entry {
    int level = 0;
    bool is_empty = false;
    GradientSet set;
  };
  void combine();

  kernels::Execution execution_;
  std::vector<Entry> entries_;
};

}  // namespace headlight::train
