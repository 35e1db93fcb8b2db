// Layer normalisation over rows, alone and after a residual sum. A row is read from memory once:
// mean, variance and result are three passes over it in cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/layer_norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/normalization.h"
#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/column_sums-inl.h"
#include "headlight/kernels/simd/residual-inl.h"
#include "headlight/kernels/simd/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

struct RowMoments {
  float mean;
  float inverse_deviation;
};

HWY_INLINE RowMoments moments_of(const float* x, int64_t cols, float epsilon) {
  const auto same = [](FloatVec v) HWY_ATTR { return v; };
  const double count = static_cast<double>(std::max<int64_t>(1, cols));
  const float mean = static_cast<float>(sum_row(cols, same, x) / count);
  const FloatVec means = hn::Set(FloatTag(), mean);
  const auto square = [means](FloatVec v) HWY_ATTR {
    const FloatVec difference = hn::Sub(v, means);
    return hn::Mul(difference, difference);
  };
  const double variance = sum_row(cols, square, x) / count;
  return {mean, static_cast<float>(1 / std::sqrt(variance + epsilon))};
}

HWY_INLINE void normalise(const float* x, int64_t cols, const RowMoments& moments,
                          const float* weight, const float* bias, float* y) {
  const FloatTag d;
  const FloatVec means = hn::Set(d, moments.mean);
  const FloatVec inverse = hn::Set(d, moments.inverse_deviation);
  const auto weighted = [means, inverse](FloatVec v, FloatVec w)
                            HWY_ATTR { return hn::Mul(hn::Mul(hn::Sub(v, means), inverse), w); };
  const auto shifted = [means, inverse](FloatVec v, FloatVec w, FloatVec b) HWY_ATTR {
    return hn::MulAdd(hn::Mul(hn::Sub(v, means), inverse), w, b);
  };
  if (bias == nullptr) {
    map_row(cols, y, weighted, x, weight);
  } else {
    map_row(cols, y, shifted, x, weight, bias);
  }
}

void norm_rows(const Execution& execution, const tensor::ConstMatrixView& x,
               const tensor::ConstMatrixView& residual, const tensor::MatrixView& sum,
               const float* weight, const float* bias, float epsilon,
               const LayerNormOutputs& outputs) {
  for_rows(execution, x.rows, x.cols, [&](int64_t r, int) HWY_ATTR {
    const float* row = row_to_normalise(x, residual, sum, r);
    const RowMoments moments = moments_of(row, x.cols, epsilon);
    normalise(row, x.cols, moments, weight, bias, outputs.y.data + r * outputs.y.row_stride);
    outputs.mean[r] = moments.mean;
    outputs.inverse_deviation[r] = moments.inverse_deviation;
  });
}

// A row of the backward pass. With n the normalised row and g = dy * weight:
//   dx = inverse_deviation * (g - mean(g) - n * mean(g * n)),  dweight = dy * n,  dbias = dy.
struct NormBackwardRow {
  const float* x;
  const float* dy;
  const float* weight;
  int64_t cols;
  RowMoments moments;

  // Adds to the partial sums of the parameters' gradients, and gives mean(g) and mean(g * n).
  HWY_INLINE void sum(float* dweight, float* dbias, float& mean_g, float& mean_gn) const {
    const FloatTag d;
    constexpr int64_t kBlock = 1024;  // as in sum_row: blocks in float, their sums in double
    double total_g = 0, total_gn = 0;
    for (int64_t first = 0; first < cols; first += kBlock) {
      FloatVec sum_g = hn::Zero(d), sum_gn = hn::Zero(d);
      for_vectors(first, std::min(cols, first + kBlock), [&](auto at) HWY_ATTR {
        const FloatVec dv = at.load(dy);
        const FloatVec g = hn::Mul(dv, at.load(weight));
        const FloatVec n = normalised(at.load(x));
        sum_g = hn::Add(sum_g, g);
        sum_gn = hn::MulAdd(g, n, sum_gn);
        at.store(hn::MulAdd(dv, n, at.load(dweight)), dweight);
        at.store(hn::Add(dv, at.load(dbias)), dbias);
      });
      total_g += hn::GetLane(hn::SumOfLanes(d, sum_g));
      total_gn += hn::GetLane(hn::SumOfLanes(d, sum_gn));
    }
    mean_g = static_cast<float>(total_g / static_cast<double>(cols));
    mean_gn = static_cast<float>(total_gn / static_cast<double>(cols));
  }

  HWY_INLINE void add_dx(float mean_g, float mean_gn, float* dx) const {
    const FloatTag d;
    const FloatVec offset = hn::Set(d, mean_g);
    const FloatVec slope = hn::Set(d, mean_gn);
    const FloatVec inverse = hn::Set(d, moments.inverse_deviation);
    const auto f = [&](FloatVec v, FloatVec dv, FloatVec w, FloatVec sum) HWY_ATTR {
      const FloatVec centred = hn::NegMulAdd(normalised(v), slope, hn::Sub(hn::Mul(dv, w), offset));
      return hn::MulAdd(inverse, centred, sum);
    };
    map_row(cols, dx, f, x, dy, weight, dx);
  }

  HWY_INLINE FloatVec normalised(FloatVec v) const {
    const FloatTag d;
    return hn::Mul(hn::Sub(v, hn::Set(d, moments.mean)), hn::Set(d, moments.inverse_deviation));
  }
};

// Each chunk's partial sums are dweight, then dbias.
void norm_rows_backward(const Execution& execution, const tensor::ConstMatrixView& x,
                        const float* weight, const float* mean, const float* inverse_deviation,
                        const tensor::ConstMatrixView& dy, const LayerNormGradients& gradients) {
  const RowChunks chunks = summing_chunks(x.rows, x.cols);
  const Scratch partials(execution, chunks.count() * 2 * x.cols);
  execution.threads.parallel_for(chunks.count(), [&](int64_t chunk, int) HWY_ATTR {
    float* dweight = partials.data + chunk * 2 * x.cols;
    float* dbias = dweight + x.cols;
    std::fill(dweight, dbias + x.cols, 0.0f);
    for (int64_t r = chunks.first(chunk); r < chunks.last(chunk); ++r) {
      const NormBackwardRow row{x.data + r * x.row_stride,
                                dy.data + r * dy.row_stride,
                                weight,
                                x.cols,
                                {mean[r], inverse_deviation[r]}};
      float mean_g = 0, mean_gn = 0;
      row.sum(dweight, dbias, mean_g, mean_gn);
      if (gradients.x.data == nullptr) continue;
      row.add_dx(mean_g, mean_gn, gradients.x.data + r * gradients.x.row_stride);
    }
  });
  const auto add = [&](int64_t first, float* sums) {
    if (sums == nullptr) return;
    add_partials(execution, partials.data + first, 2 * x.cols, chunks.count(), x.cols, sums);
  };
  add(0, gradients.weight);
  add(x.cols, gradients.bias);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HEADLIGHT_EXPORT(norm_rows);
HEADLIGHT_EXPORT(norm_rows_backward);
}  // namespace

void layer_norm_forward(const Execution& execution, tensor::ConstMatrixView x, const float* weight,
                        const float* bias, float epsilon, const LayerNormOutputs& outputs) {
  HEADLIGHT_DISPATCH(norm_rows)(execution, x, {}, {}, weight, bias, epsilon, outputs);
}

void residual_norm_forward(const Execution& execution, tensor::ConstMatrixView x,
                           tensor::ConstMatrixView residual, tensor::MatrixView sum,
                           const float* weight, const float* bias, float epsilon,
                           const LayerNormOutputs& outputs) {
  HEADLIGHT_DISPATCH(norm_rows)(execution, x, residual, sum, weight, bias, epsilon, outputs);
}

void layer_norm_backward(const Execution& execution, tensor::ConstMatrixView x, const float* weight,
                         const float* mean, const float* inverse_deviation,
                         tensor::ConstMatrixView dy, const LayerNormGradients& gradients) {
  HEADLIGHT_DISPATCH(norm_rows_backward)
  (execution, x, weight, mean, inverse_deviation, dy, gradients);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
