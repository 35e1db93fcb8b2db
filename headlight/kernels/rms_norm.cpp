// Root-mean-square normalisation over rows, alone and after a residual sum.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/rms_norm.cpp"
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

HWY_INLINE float inverse_root_of(const float* x, int64_t cols, float epsilon) {
  const auto square = [](FloatVec v) HWY_ATTR { return hn::Mul(v, v); };
  const double count = static_cast<double>(std::max<int64_t>(1, cols));
  return static_cast<float>(1 / std::sqrt(sum_row(cols, square, x) / count + epsilon));
}

void rms_norm_rows(const Execution& execution, const tensor::ConstMatrixView& x,
                   const tensor::ConstMatrixView& residual, const tensor::MatrixView& sum,
                   const RmsNormWeight& weight, float epsilon, const RmsNormOutputs& outputs) {
  for_rows(execution, x.rows, x.cols, [&](int64_t r, int) HWY_ATTR {
    const float* row = row_to_normalise(x, residual, sum, r);
    outputs.inverse_root[r] = inverse_root_of(row, x.cols, epsilon);
    const FloatVec inverse = hn::Set(FloatTag(), outputs.inverse_root[r]);
    const FloatVec offset = hn::Set(FloatTag(), weight.offset);
    const auto weighted = [inverse, offset](FloatVec v, FloatVec w)
                              HWY_ATTR { return hn::Mul(hn::Mul(v, inverse), hn::Add(offset, w)); };
    map_row(x.cols, outputs.y.data + r * outputs.y.row_stride, weighted, row, weight.data);
  });
}

// A row of the backward pass. With n = x * inverse_root and g = dy * (offset + weight):
//   dx = inverse_root * (g - n * mean(g * n)),  dweight = dy * n.
struct RmsNormBackwardRow {
  const float* x;
  const float* dy;
  RmsNormWeight weight;
  int64_t cols;
  float inverse_root;

  // Adds to the partial sums of the weight's gradient and gives mean(g * n).
  HWY_INLINE float sum(float* dweight) const {
    const FloatTag d;
    const FloatVec inverse = hn::Set(d, inverse_root);
    const FloatVec offset = hn::Set(d, weight.offset);
    constexpr int64_t kBlock = 1024;  // as in sum_row: blocks in float, their sums in double
    double total = 0;
    for (int64_t first = 0; first < cols; first += kBlock) {
      FloatVec sum_gn = hn::Zero(d);
      for_vectors(first, std::min(cols, first + kBlock), [&](auto at) HWY_ATTR {
        const FloatVec dv = at.load(dy);
        const FloatVec g = hn::Mul(dv, hn::Add(offset, at.load(weight.data)));
        const FloatVec n = hn::Mul(at.load(x), inverse);
        sum_gn = hn::MulAdd(g, n, sum_gn);
        at.store(hn::MulAdd(dv, n, at.load(dweight)), dweight);
      });
      total += hn::GetLane(hn::SumOfLanes(d, sum_gn));
    }
    return static_cast<float>(total / static_cast<double>(cols));
  }

  HWY_INLINE void add_dx(float mean_gn, float* dx) const {
    const FloatTag d;
    const FloatVec slope = hn::Set(d, mean_gn);
    const FloatVec inverse = hn::Set(d, inverse_root);
    const FloatVec offset = hn::Set(d, weight.offset);
    const auto f = [=](FloatVec v, FloatVec dv, FloatVec w, FloatVec sum) HWY_ATTR {
      const FloatVec g = hn::Mul(dv, hn::Add(offset, w));
      return hn::MulAdd(inverse, hn::NegMulAdd(hn::Mul(v, inverse), slope, g), sum);
    };
    map_row(cols, dx, f, x, dy, weight.data, dx);
  }
};

void rms_norm_rows_backward(const Execution& execution, const tensor::ConstMatrixView& x,
                            const RmsNormWeight& weight, const float* inverse_root,
                            const tensor::ConstMatrixView& dy, const RmsNormGradients& gradients) {
  const RowChunks chunks = summing_chunks(x.rows, x.cols);
  const Scratch partials(execution, chunks.count() * x.cols);
  execution.threads.parallel_for(chunks.count(), [&](int64_t chunk, int) HWY_ATTR {
    float* dweight = partials.data + chunk * x.cols;
    std::fill(dweight, dweight + x.cols, 0.0f);
    for (int64_t r = chunks.first(chunk); r < chunks.last(chunk); ++r) {
      const RmsNormBackwardRow row{x.data + r * x.row_stride, dy.data + r * dy.row_stride, weight,
                                   x.cols, inverse_root[r]};
      const float mean_gn = row.sum(dweight);
      if (gradients.x.data == nullptr) continue;
      row.add_dx(mean_gn, gradients.x.data + r * gradients.x.row_stride);
    }
  });
  if (gradients.weight == nullptr) return;
  add_partials(execution, partials.data, x.cols, chunks.count(), x.cols, gradients.weight);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HEADLIGHT_EXPORT(rms_norm_rows);
HEADLIGHT_EXPORT(rms_norm_rows_backward);
}  // namespace

void rms_norm_forward(const Execution& execution, tensor::ConstMatrixView x,
                      const RmsNormWeight& weight, float epsilon, const RmsNormOutputs& outputs) {
  HEADLIGHT_DISPATCH(rms_norm_rows)(execution, x, {}, {}, weight, epsilon, outputs);
}

void residual_rms_norm_forward(const Execution& execution, tensor::ConstMatrixView x,
                               tensor::ConstMatrixView residual, tensor::MatrixView sum,
                               const RmsNormWeight& weight, float epsilon,
                               const RmsNormOutputs& outputs) {
  HEADLIGHT_DISPATCH(rms_norm_rows)(execution, x, residual, sum, weight, epsilon, outputs);
}

void rms_norm_backward(const Execution& execution, tensor::ConstMatrixView x,
                       const RmsNormWeight& weight, const float* inverse_root,
                       tensor::ConstMatrixView dy, const RmsNormGradients& gradients) {
  HEADLIGHT_DISPATCH(rms_norm_rows_backward)(execution, x, weight, inverse_root, dy, gradients);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
