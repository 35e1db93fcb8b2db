// The row that a norm normalises: of its input, or of a residual sum, which is stored on the way.
// Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_RESIDUAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_RESIDUAL_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_RESIDUAL_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_RESIDUAL_INL_H_
#endif

#include <hwy/highway.h>

#include "headlight/kernels/execution.h"
#include "headlight/kernels/simd/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Row r of x + residual, which is stored in `sum`; without a residual, of x itself.
HWY_INLINE const float* row_to_normalise(const tensor::ConstMatrixView& x,
                                         const tensor::ConstMatrixView& residual,
                                         const tensor::MatrixView& sum, int64_t r) {
  const float* row = x.data + r * x.row_stride;
  if (residual.data == nullptr) return row;
  float* sum_row = sum.data + r * sum.row_stride;
  const auto add = [](FloatVec u, FloatVec v) HWY_ATTR { return hn::Add(u, v); };
  map_row(x.cols, sum_row, add, row, residual.data + r * residual.row_stride);
  return sum_row;
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
