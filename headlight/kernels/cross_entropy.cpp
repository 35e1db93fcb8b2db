// Cross-entropy of rows of logits and its gradient: one pass over the logits for maximum, sum and
// exponentials, one over the exponentials for the gradient.
#include "headlight/kernels/cross_entropy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/cross_entropy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

// log sum exp(x) - (1 - s) x[target] - s mean(x), everything relative to the row's maximum.
HWY_INLINE double loss_of(const RowState& state, double target_logit, double mean_logit,
                          double smoothing) {
  const double max = shift_of(state.max);
  const double loss = log_sum(state) - (1 - smoothing) * (target_logit - max);
  return smoothing == 0 ? loss : loss - smoothing * (mean_logit - max);
}

// d = factor * (p - (1 - s) [column == target] - s / cols), from the exponentials in d.
HWY_INLINE void finish_gradient(const RowState& state, const float* block_max, int64_t cols,
                                int64_t target, float factor, float smoothing, float* d_row) {
  const FloatTag d;
  const FloatVec even = hn::Set(d, factor * smoothing / static_cast<float>(cols));
  for (int64_t first = 0, block = 0; first < cols; first += kSoftmaxBlock, ++block) {
    const FloatVec scale = hn::Set(d, factor * block_factor(state, block_max[block]));
    const auto f = [scale, even](FloatVec v) HWY_ATTR { return hn::MulSub(v, scale, even); };
    map_row(std::min(kSoftmaxBlock, cols - first), d_row + first, f, d_row + first);
  }
  d_row[target] -= factor * (1 - smoothing);
}

void cross_entropy_rows(const Execution& execution, const tensor::ConstMatrixView& logits,
                        const int64_t* targets, const CrossEntropyOptions& options, float* losses,
                        float factor, const tensor::MatrixView& d_logits) {
  const int64_t blocks = softmax_blocks(logits.cols);
  const Scratch maxima(execution, blocks * execution.threads.size());
  for_rows(execution, logits.rows, logits.cols, [&](int64_t r, int worker) HWY_ATTR {
    const int64_t target = targets[r];
    const float* row = logits.data + r * logits.row_stride;
    float* d_row = d_logits.data == nullptr ? nullptr : d_logits.data + r * d_logits.row_stride;
    if (target == options.ignored) {
      losses[r] = 0;
      if (d_row != nullptr) std::fill(d_row, d_row + logits.cols, 0.0f);
      return;
    }
    // Before the gradient overwrites the logits.
    const double target_logit = row[target];
    double mean_logit = 0;
    if (options.label_smoothing != 0) {
      const auto same = [](FloatVec v) HWY_ATTR { return v; };
      mean_logit = sum_row(logits.cols, same, row) / static_cast<double>(logits.cols);
    }
    float* block_max = maxima.data + worker * blocks;
    const RowState state = d_row == nullptr
                               ? exponential_row<false>(row, logits.cols, nullptr, nullptr)
                               : exponential_row<true>(row, logits.cols, d_row, block_max);
    losses[r] =
        static_cast<float>(loss_of(state, target_logit, mean_logit, options.label_smoothing));
    if (d_row == nullptr) return;
    finish_gradient(state, block_max, logits.cols, target, factor, options.label_smoothing, d_row);
  });
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HEADLIGHT_EXPORT(cross_entropy_rows);
}

void cross_entropy(const Execution& execution, tensor::ConstMatrixView logits,
                   const int64_t* targets, const CrossEntropyOptions& options, float* losses,
                   float factor, tensor::MatrixView d_logits) {
  HEADLIGHT_DISPATCH(cross_entropy_rows)
  (execution, logits, targets, options, losses, factor, d_logits);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
