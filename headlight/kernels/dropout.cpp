// Dropout of matrices, drawn row by row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/dropout.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/elementwise.h"
#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/random-inl.h"
#include "headlight/kernels/simd/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

// Factors are drawn a few hundred at a time and used while they are in L1.
HWY_INLINE void drop_row(const DropoutDraw& draw, int64_t row, const float* x, int64_t cols,
                         bool accumulate, float* y) {
  constexpr int64_t kPart = 256;
  const uint64_t drawn_row = static_cast<uint64_t>(draw.first_row + row);
  float factors[kPart];
  for (int64_t first = 0; first < cols; first += kPart) {
    const int64_t count = std::min(kPart, cols - first);
    dropout_factors(draw.key, static_cast<uint32_t>(drawn_row),
                    static_cast<uint32_t>(drawn_row >> 32), kDropoutTag, first, count,
                    draw.probability, factors);
    const auto drop = [](FloatVec v, FloatVec factor) HWY_ATTR { return hn::Mul(v, factor); };
    const auto drop_and_add = [](FloatVec v, FloatVec factor, FloatVec sum)
                                  HWY_ATTR { return hn::MulAdd(v, factor, sum); };
    if (accumulate) {
      map_row(count, y + first, drop_and_add, x + first, factors, y + first);
    } else {
      map_row(count, y + first, drop, x + first, factors);
    }
  }
}

void drop_rows(const Execution& execution, const DropoutDraw& draw,
               const tensor::ConstMatrixView& x, const tensor::MatrixView& y, bool accumulate) {
  for_rows(execution, x.rows, x.cols, [&](int64_t r, int) HWY_ATTR {
    drop_row(draw, r, x.data + r * x.row_stride, x.cols, accumulate, y.data + r * y.row_stride);
  });
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HEADLIGHT_EXPORT(drop_rows);
}

void dropout(const Execution& execution, const DropoutDraw& draw, tensor::ConstMatrixView x,
             tensor::MatrixView y, bool accumulate) {
  HEADLIGHT_DISPATCH(drop_rows)(execution, draw, x, y, accumulate);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
