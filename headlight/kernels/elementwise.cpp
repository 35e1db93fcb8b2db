// Sums, multiples and column sums of matrices.
#include "headlight/kernels/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/elementwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/column_sums-inl.h"
#include "headlight/kernels/simd/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

void add_scaled(float alpha, const float* a, const float* b, float* y, int64_t count) {
  const FloatVec factor = hn::Set(FloatTag(), alpha);
  const auto f = [factor](FloatVec u, FloatVec v) HWY_ATTR { return hn::MulAdd(factor, u, v); };
  map_row(count, y, f, a, b);
}

void multiply(float alpha, const float* x, float* y, int64_t count) {
  const FloatVec factor = hn::Set(FloatTag(), alpha);
  const auto f = [factor](FloatVec v) HWY_ATTR { return hn::Mul(factor, v); };
  map_row(count, y, f, x);
}

void sum_chunks(const Execution& execution, const tensor::ConstMatrixView& x, float* sums) {
  const RowChunks chunks = summing_chunks(x.rows, x.cols);
  const Scratch partials(execution, chunks.count() * x.cols);
  execution.threads.parallel_for(chunks.count(), [&](int64_t chunk, int) HWY_ATTR {
    const int64_t first = chunks.first(chunk);
    sum_rows(x.data + first * x.row_stride, x.row_stride, chunks.last(chunk) - first, x.cols,
             partials.data + chunk * x.cols);
  });
  add_partials(execution, partials.data, x.cols, chunks.count(), x.cols, sums);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HEADLIGHT_EXPORT(add_scaled);
HEADLIGHT_EXPORT(multiply);
HEADLIGHT_EXPORT(sum_chunks);

// Calls task(count, pointers into the views...) on pieces of adjacent numbers; the views are of one
// size. Matrices without gaps are one long row.
template <class Task, class... View>
void for_pieces(const Execution& execution, int64_t rows, int64_t cols, const Task& task,
                const View&... views) {
  const bool whole = ((views.row_stride == cols) && ...);
  const RowChunks chunks = whole ? row_chunks(rows * cols, 1) : row_chunks(rows, cols);
  execution.threads.parallel_for(chunks.count(), [&](int64_t chunk, int) {
    const int64_t first = chunks.first(chunk);
    const int64_t last = chunks.last(chunk);
    if (whole) return task(last - first, (views.data + first)...);
    for (int64_t r = first; r < last; ++r) task(cols, (views.data + r * views.row_stride)...);
  });
}
}  // namespace

void add(const Execution& execution, float alpha, tensor::ConstMatrixView a,
         tensor::ConstMatrixView b, tensor::MatrixView y) {
  const auto piece = [alpha](int64_t count, const float* u, const float* v, float* to) {
    HEADLIGHT_DISPATCH(add_scaled)(alpha, u, v, to, count);
  };
  for_pieces(execution, y.rows, y.cols, piece, a, b, y);
}

void scale(const Execution& execution, float alpha, tensor::ConstMatrixView x,
           tensor::MatrixView y) {
  const auto piece = [alpha](int64_t count, const float* u, float* to) {
    HEADLIGHT_DISPATCH(multiply)(alpha, u, to, count);
  };
  for_pieces(execution, y.rows, y.cols, piece, x, y);
}

void clear(const Execution& execution, tensor::MatrixView y) {
  const auto piece = [](int64_t count, float* to) { std::fill(to, to + count, 0.0F); };
  for_pieces(execution, y.rows, y.cols, piece, y);
}

void add_column_sums(const Execution& execution, tensor::ConstMatrixView x, float* sums) {
  HEADLIGHT_DISPATCH(sum_chunks)(execution, x, sums);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
