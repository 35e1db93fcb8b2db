// How rows are shared out among threads: in chunks cut by shape alone, so that no result depends on
// the number of threads. Kernels only.
#pragma once

#include <algorithm>

#include "headlight/kernels/execution.h"

namespace headlight::kernels {

struct RowChunks {
  int64_t rows = 0;
  int64_t chunk_rows = 1;

  int64_t count() const { return (rows + chunk_rows - 1) / chunk_rows; }
  int64_t first(int64_t chunk) const { return chunk * chunk_rows; }
  int64_t last(int64_t chunk) const { return std::min(rows, (chunk + 1) * chunk_rows); }
};

// Some 64 kB a chunk: long against waking a thread, short against the cache.
inline RowChunks row_chunks(int64_t rows, int64_t cols) {
  constexpr int64_t kChunkNumbers = int64_t{1} << 14;
  return {rows, std::max<int64_t>(1, kChunkNumbers / std::max<int64_t>(1, cols))};
}

// For sums over rows, where each chunk has partial sums of its own: at least 64 rows, or the
// partial sums would cost as much as the rows, and at most 256, or rounding would show.
inline RowChunks summing_chunks(int64_t rows, int64_t cols) {
  return {rows, std::clamp<int64_t>(row_chunks(rows, cols).chunk_rows, 64, 256)};
}

// Calls task(row, worker) for every row.
template <class Task>
void for_rows(const Execution& execution, int64_t rows, int64_t cols, const Task& task) {
  const RowChunks chunks = row_chunks(rows, cols);
  execution.threads.parallel_for(chunks.count(), [&](int64_t chunk, int worker) {
    for (int64_t row = chunks.first(chunk); row < chunks.last(chunk); ++row) task(row, worker);
  });
}

// Scratch of `count` floats; lives as long as the block.
struct Scratch {
  Scratch(const Execution& execution, int64_t count)
      : block(execution.arena.allocate(static_cast<size_t>(count) * sizeof(float))),
        data(reinterpret_cast<float*>(block.get())) {}
  tensor::Block block;
  float* data;
};

}  // namespace headlight::kernels
