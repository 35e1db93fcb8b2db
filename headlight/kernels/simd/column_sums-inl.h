// Sums over rows, column by column: each chunk of rows has partial sums of its own, which are then
// added in the order of the chunks. Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_COLUMN_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_COLUMN_SUMS_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_COLUMN_SUMS_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_COLUMN_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums of kVectors vectors of columns over `rows` rows, starting at zero.
template <int kVectors>
HWY_INLINE void sum_columns(const float* x, int64_t row_stride, int64_t rows, float* sums) {
  const FloatTag d;
  FloatVec total[kVectors];
  for (int v = 0; v < kVectors; ++v) total[v] = hn::Zero(d);
  for (int64_t r = 0; r < rows; ++r, x += row_stride) {
    for (int v = 0; v < kVectors; ++v) {
      total[v] = hn::Add(total[v], hn::LoadU(d, x + v * kLanes));
    }
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(total[v], d, sums + v * kLanes);
}

// sums[c] = sum of x[r][c] over all rows of x, one after the other.
HWY_INLINE void sum_rows(const float* x, int64_t row_stride, int64_t rows, int64_t cols,
                         float* sums) {
  constexpr int kVectors = 4;
  int64_t c = 0;
  for (; c + kVectors * kLanes <= cols; c += kVectors * kLanes) {
    sum_columns<kVectors>(x + c, row_stride, rows, sums + c);
  }
  for (; c + kLanes <= cols; c += kLanes) sum_columns<1>(x + c, row_stride, rows, sums + c);
  if (c == cols) return;
  FloatVec total = hn::Zero(FloatTag());
  for (int64_t r = 0; r < rows; ++r) {
    total = hn::Add(total, load_first(x + r * row_stride + c, cols - c));
  }
  store_first(total, sums + c, cols - c);
}

// sums[c] += sum of partials[p * stride + c] over p < count, in that order.
inline void add_partials(const Execution& execution, const float* partials, int64_t stride,
                         int64_t count, int64_t cols, float* sums) {
  constexpr int64_t kPart = 1024;
  const int64_t parts = (cols + kPart - 1) / kPart;
  execution.threads.parallel_for(parts, [&](int64_t part, int) HWY_ATTR {
    const int64_t first = part * kPart;
    const int64_t width = std::min(kPart, cols - first);
    float total[kPart];
    sum_rows(partials + first, stride, count, width, total);
    const auto add = [](FloatVec a, FloatVec b) HWY_ATTR { return hn::Add(a, b); };
    map_row(width, sums + first, add, sums + first, total);
  });
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
