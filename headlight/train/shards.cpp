// Cutting a step's sequences, and adding gradients in a tree.
#include "headlight/train/shards.h"

#include <algorithm>
#include <bit>

#include "headlight/train/task.h"

namespace headlight::train {
namespace {

using tensor::Tensor;

Tensor rows_of(const Tensor& whole, const Slice& slice) {
  return whole.defined() ? whole.slice(0, slice.first, slice.count) : Tensor();
}

}  // namespace

int64_t default_shards(int ranks) {
  constexpr int64_t kUsual = 8;
  return std::max<int64_t>(kUsual, ranks);
}

bool is_shard_count(int64_t shards) { return std::has_single_bit(static_cast<uint64_t>(shards)); }

std::string why_too_few_shards(int ranks) {
  return "there are " + std::to_string(ranks) + " ranks, and each needs a shard of a step";
}

ranks::AddTo adding_numbers(const kernels::Execution& execution) {
  return [execution](std::span<float> mine, std::span<const float> theirs) {
    const auto count = static_cast<int64_t>(mine.size());
    const tensor::MatrixView sum{mine.data(), 1, count, count, 1};
    kernels::add(execution, 1, sum, {theirs.data(), 1, count, count, 1}, sum);
  };
}

ShardedStep::ShardedStep(Batches batches, size_t count, int64_t shards)
    : fetch_(std::move(batches)), count_(count), slices_(static_cast<size_t>(shards)) {
  if (shards > 1) {
    cut();
    return;
  }
  for (size_t b = 0; b < count_; ++b) slices_[0].push_back({.batch = b});
}

void ShardedStep::cut() {
  int64_t sequences = 0;
  for (size_t b = 0; b < count_; ++b) {
    const models::Batch& batch = batches_.emplace_back(fetch_(b));
    targets_.push_back(counted_targets(batch));
    tokens_ += tokens_read(batch);
    sequences += batch.ids.size(0);
  }
  int64_t first = 0;  // of the batch, among the step's sequences
  for (size_t b = 0; b < count_; ++b) {
    const int64_t end = first + batches_[b].ids.size(0);
    for (int64_t shard = 0; shard < shards(); ++shard) {
      const int64_t begin = std::max(first, sequences * shard / shards());
      const int64_t stop = std::min(end, sequences * (shard + 1) / shards());
      const Slice slice{b, begin - first, stop - begin};
      if (begin < stop && targets_of(slice) > 0)
        slices_[static_cast<size_t>(shard)].push_back(slice);
    }
    first = end;
  }
}

bool ShardedStep::is_empty(int64_t first, int64_t count) const {
  const auto begin = slices_.begin() + first;
  return std::all_of(begin, begin + count, [](const auto& slices) { return slices.empty(); });
}

int64_t ShardedStep::targets_of(const Slice& slice) const {
  return counted_targets({.targets = rows_of(batches_[slice.batch].targets, slice)});
}

models::Batch ShardedStep::part(const Slice& slice) const {
  if (slice.count == Slice::kAll) {
    models::Batch batch = fetch_(slice.batch);
    tokens_ += tokens_read(batch);
    return batch;
  }
  const models::Batch& whole = batches_[slice.batch];
  return {.ids = rows_of(whole.ids, slice),
          .lens = rows_of(whole.lens, slice),
          .source_ids = rows_of(whole.source_ids, slice),
          .source_lens = rows_of(whole.source_lens, slice),
          .segments = rows_of(whole.segments, slice),
          .targets = rows_of(whole.targets, slice)};
}

double ShardedStep::weight(const Slice& slice) const {
  const double batches = static_cast<double>(count_);
  if (slice.count == Slice::kAll) return 1 / batches;
  const int64_t all = targets_[slice.batch], here = targets_of(slice);
  return here == all ? 1 / batches
                     : static_cast<double>(here) / (static_cast<double>(all) * batches);
}

void GradientTree::add(GradientSet set, bool is_empty) {
  entries_.push_back({.is_empty = is_empty, .set = std::move(set)});
  while (entries_.size() > 1 && entries_.back().level == entries_[entries_.size() - 2].level)
    combine();
}

// The last two become one.
void GradientTree::combine() {
  Entry right = std::move(entries_.back());
  entries_.pop_back();
  Entry& left = entries_.back();
  ++left.level;
  if (right.is_empty) return;
  if (left.is_empty) {
    left.set = std::move(right.set);
    left.is_empty = false;
    return;
  }
  for (size_t i = 0; i < left.set.size(); ++i) {
    Tensor& mine = left.set[i];
    Tensor& theirs = right.set[i];
    if (!mine.defined() && !theirs.defined()) continue;
    // Without a gradient it is zero.
    if (!mine.defined()) mine = Tensor::zeros(tensor::DType::f32, theirs.shape());
    if (!theirs.defined()) theirs = Tensor::zeros(tensor::DType::f32, mine.shape());
    kernels::add(execution_, 1, mine.matrix(), theirs.matrix(), mine.mutable_matrix());
    theirs = Tensor();
  }
}

GradientSet GradientTree::take() {
  GradientSet set = std::move(entries_.back().set);
  entries_.clear();
  return set;
}

}  // namespace headlight::train
