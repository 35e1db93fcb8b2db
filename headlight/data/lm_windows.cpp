// Windows copied out of a stream into tensors.
#include "headlight/data/lm_windows.h"

#include <algorithm>

namespace headlight::data {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Tensor;

LmBatch empty_batch(int64_t rows, int64_t length) {
  return {.ids = Tensor::zeros(DType::i64, {rows, length}),
          .targets = Tensor::uninitialized(DType::i64, {rows, length}),
          .target_count = 0};
}

// The window of `length` targets that starts at token `first`, into one row.
void fill_row(const TokenStream& tokens, int64_t first, int64_t length, int64_t row,
              LmBatch& batch) {
  const int64_t width = batch.ids.size(1);
  int64_t* ids = batch.ids.mutable_data<int64_t>() + row * width;
  int64_t* targets = batch.targets.mutable_data<int64_t>() + row * width;
  const size_t count = static_cast<size_t>(length);
  tokens.copy(first, {ids, count});
  tokens.copy(first + 1, {targets, count});
  std::fill(targets + length, targets + width, -1);
  batch.target_count += length;
}

[[noreturn]] void refuse(const TokenStream& tokens, const std::string& name,
                         const std::string& need) {
  throw Error(ErrorKind::bad_input, "data", name,
              "has " + std::to_string(tokens.size()) + " tokens, " + need);
}

}  // namespace

TrainingWindows::TrainingWindows(TokenStream tokens, int64_t block_size, const std::string& name)
    : tokens_(std::move(tokens)), block_size_(block_size) {
  if (tokens_.size() > block_size) return;
  refuse(tokens_, name,
         "block_size " + std::to_string(block_size) + " needs " + std::to_string(block_size + 1) +
             "; give a longer text or a smaller block_size");
}

LmBatch TrainingWindows::batch(uint64_t seed, uint64_t step, int64_t rows) const {
  const base::Random random(base::mix(base::mix(seed, step), base::name_key("lm windows")));
  const uint64_t starts = static_cast<uint64_t>(tokens_.size() - block_size_);
  LmBatch batch = empty_batch(rows, block_size_);
  for (int64_t row = 0; row < rows; ++row) {
    const uint64_t first = random.below(static_cast<uint64_t>(row), starts);
    fill_row(tokens_, static_cast<int64_t>(first), block_size_, row, batch);
  }
  return batch;
}

ValidationWindows::ValidationWindows(TokenStream tokens, int64_t block_size,
                                     const std::string& name)
    : tokens_(std::move(tokens)), block_size_(block_size) {
  if (tokens_.size() < 2) refuse(tokens_, name, "validation needs 2");
}

int64_t ValidationWindows::window_count() const noexcept {
  return (target_count() + block_size_ - 1) / block_size_;
}

LmBatch ValidationWindows::batch(int64_t first, int64_t rows) const {
  rows = std::min(rows, window_count() - first);
  LmBatch batch = empty_batch(rows, std::min(block_size_, target_count()));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t begin = (first + row) * block_size_;
    fill_row(tokens_, begin, std::min(block_size_, target_count() - begin), row, batch);
  }
  return batch;
}

}  // namespace headlight::data
