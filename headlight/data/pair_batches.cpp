// Pairs cut into batches by length, epoch by epoch, and padded into tensors.
#include "headlight/data/pair_batches.h"

#include <algorithm>
#include <tuple>

#include "headlight/data/permutation.h"

namespace headlight::data {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Tensor;

constexpr int64_t kPoolBatches = 32;

// What a pair alone asks of a batch: its longer side, the end included.
int64_t width_of(const PairSet& pairs, int64_t pair) {
  return std::max(pairs.source_length(pair), pairs.target_length(pair) + 1);
}

// Sorts by length, those of equal lengths as they stand.
void sort_by_length(const PairSet& pairs, std::span<int64_t> indices) {
  std::stable_sort(indices.begin(), indices.end(), [&pairs](int64_t a, int64_t b) {
    return std::tuple(width_of(pairs, a), pairs.source_length(a)) <
           std::tuple(width_of(pairs, b), pairs.source_length(b));
  });
}

// Cuts pairs in increasing width.
void cut(const PairSet& pairs, std::span<const int64_t> sorted, int64_t batch_tokens,
         std::vector<PairIndices>& batches) {
  PairIndices batch;
  for (const int64_t pair : sorted) {
    const int64_t rows = static_cast<int64_t>(batch.size()) + 1;
    if (!batch.empty() && rows * width_of(pairs, pair) > batch_tokens) {
      batches.push_back(std::move(batch));
      batch.clear();
    }
    batch.push_back(pair);
  }
  if (!batch.empty()) batches.push_back(std::move(batch));
}

// Where the pool that starts at `first` ends: enough pairs to fill its batches.
size_t pool_end(const PairSet& pairs, const std::vector<int64_t>& order, size_t first,
                int64_t batch_tokens) {
  int64_t tokens = 0;
  size_t end = first;
  while (end < order.size() && tokens < kPoolBatches * batch_tokens) {
    tokens += width_of(pairs, order[end++]);
  }
  return end;
}

std::vector<PairIndices> shuffled_batches(const PairSet& pairs, int64_t batch_tokens,
                                          uint64_t key) {
  std::vector<int64_t> order = permutation(pairs.size(), key);
  std::vector<PairIndices> sorted;
  for (size_t first = 0; first < order.size();) {
    const size_t end = pool_end(pairs, order, first, batch_tokens);
    const std::span<int64_t> pool(order.data() + first, end - first);
    sort_by_length(pairs, pool);
    cut(pairs, pool, batch_tokens, sorted);
    first = end;
  }
  std::vector<PairIndices> batches;
  const uint64_t batch_key = base::mix(key, base::name_key("batches"));
  for (const int64_t index : permutation(static_cast<int64_t>(sorted.size()), batch_key)) {
    batches.push_back(std::move(sorted[static_cast<size_t>(index)]));
  }
  return batches;
}

// Rows of one width, filled with `filler` behind what is written.
Tensor rows_of(int64_t rows, int64_t width, int64_t filler) {
  Tensor tensor = Tensor::uninitialized(DType::i64, {rows, width});
  std::fill_n(tensor.mutable_data<int64_t>(), rows * width, filler);
  return tensor;
}

void write_row(const std::vector<int64_t>& ids, int64_t row, int64_t offset, Tensor& to) {
  std::copy(ids.begin(), ids.end(), to.mutable_data<int64_t>() + row * to.size(1) + offset);
}

}  // namespace

PairBatch make_batch(const PairSet& pairs, std::span<const int64_t> indices,
                     const SequenceIds& ids) {
  int64_t longest_source = 0, longest_target = 0;
  for (const int64_t pair : indices) {
    longest_source = std::max(longest_source, pairs.source_length(pair));
    longest_target = std::max(longest_target, pairs.target_length(pair) + 1);
  }
  const int64_t rows = static_cast<int64_t>(indices.size());
  PairBatch batch{.source_ids = rows_of(rows, longest_source, ids.pad),
                  .source_lens = Tensor::uninitialized(DType::i64, {rows}),
                  .input_ids = rows_of(rows, longest_target, ids.pad),
                  .targets = rows_of(rows, longest_target, -1),
                  .target_lens = Tensor::uninitialized(DType::i64, {rows})};
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t pair = indices[static_cast<size_t>(row)];
    const std::vector<int64_t> target = pairs.target(pair);
    const int64_t length = pairs.target_length(pair);
    write_row(pairs.source(pair), row, 0, batch.source_ids);
    write_row({ids.start}, row, 0, batch.input_ids);
    write_row(target, row, 1, batch.input_ids);
    write_row(target, row, 0, batch.targets);
    write_row({ids.end}, row, length, batch.targets);
    batch.source_lens.mutable_data<int64_t>()[row] = pairs.source_length(pair);
    batch.target_lens.mutable_data<int64_t>()[row] = length + 1;
    batch.target_count += length + 1;
  }
  return batch;
}

std::vector<PairIndices> sorted_batches(const PairSet& pairs, int64_t batch_tokens) {
  std::vector<int64_t> order(static_cast<size_t>(pairs.size()));
  std::iota(order.begin(), order.end(), 0);
  sort_by_length(pairs, order);
  std::vector<PairIndices> batches;
  cut(pairs, order, batch_tokens, batches);
  return batches;
}

PairBatches::PairBatches(PairSet pairs, const PairBatchOptions& options, const std::string& name)
    : pairs_(std::move(pairs)), options_(options) {
  if (pairs_.size() == 0) throw Error(ErrorKind::bad_input, "pairs", name, "holds no pairs");
}

void PairBatches::seek(int64_t step) {
  const auto plan = [this](int64_t epoch) {
    const uint64_t key =
        base::mix(base::mix(options_.seed, static_cast<uint64_t>(epoch)), base::name_key("pairs"));
    epoch_ = epoch;
    batches_ = shuffled_batches(pairs_, options_.batch_tokens, key);
  };
  // The number of batches differs from epoch to epoch, so each has to be cut once to know where the
  // next one begins.
  while (epoch_begins_.back() <= step) {
    plan(static_cast<int64_t>(epoch_begins_.size()) - 1);
    epoch_begins_.push_back(epoch_begins_.back() + static_cast<int64_t>(batches_.size()));
  }
  const auto after = std::upper_bound(epoch_begins_.begin(), epoch_begins_.end(), step);
  const int64_t epoch = after - epoch_begins_.begin() - 1;
  if (epoch != epoch_) plan(epoch);
}

const PairIndices& PairBatches::indices(int64_t step) {
  seek(step);
  return batches_[static_cast<size_t>(step - epoch_begins_[static_cast<size_t>(epoch_)])];
}

}  // namespace headlight::data
