// Cross-entropy of contiguous rows of logits, with ignored targets and label smoothing.
#pragma once

#include "headlight/kernels/cross_entropy.h"
#include "headlight/kernels/reference/softmax.h"

namespace headlight::kernels::reference {

// loss[r] = -(1 - s) log p[target] - s * mean of log p; 0 where the target is ignored.
template <class T>
void cross_entropy_forward(const T* logits, const int64_t* targets,
                           const CrossEntropyOptions& options, T* losses, int64_t rows,
                           int64_t cols) {
  const T smoothing = options.label_smoothing;
  for (int64_t r = 0; r < rows; ++r, logits += cols) {
    losses[r] = 0;
    if (targets[r] == options.ignored) continue;
    const RowExponentials<T> row = row_exponentials(logits, cols);
    const T log_sum = row.sum == 0 ? T(0) : std::log(row.sum);
    const auto log_p = [&](int64_t c) { return logits[c] - row.max - log_sum; };
    losses[r] = -(1 - smoothing) * log_p(targets[r]);
    if (smoothing == 0) continue;
    for (int64_t c = 0; c < cols; ++c) losses[r] -= smoothing * log_p(c) / static_cast<T>(cols);
  }
}

// d_logits = factor * (p - (1 - s) [c == target] - s / cols); written, not added.
template <class T>
void cross_entropy_backward(const T* logits, const int64_t* targets,
                            const CrossEntropyOptions& options, T factor, T* d_logits, int64_t rows,
                            int64_t cols) {
  const T smoothing = options.label_smoothing;
  softmax_forward(logits, d_logits, rows, cols);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      T& d = d_logits[r * cols + c];
      const T wanted = (c == targets[r] ? 1 - smoothing : T(0)) + smoothing / static_cast<T>(cols);
      d = targets[r] == options.ignored ? T(0) : factor * (d - wanted);
    }
  }
}

}  // namespace headlight::kernels::reference
