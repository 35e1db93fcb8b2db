// Softmax and log-softmax over rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/normalization.h"
#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

void softmax_rows(const Execution& execution, const tensor::ConstMatrixView& x,
                  const tensor::MatrixView& y) {
  const int64_t blocks = softmax_blocks(x.cols);
  const Scratch maxima(execution, blocks * execution.threads.size());
  for_rows(execution, x.rows, x.cols, [&](int64_t r, int worker) HWY_ATTR {
    float* block_max = maxima.data + worker * blocks;
    float* row = y.data + r * y.row_stride;
    const RowState state = exponential_row<true>(x.data + r * x.row_stride, x.cols, row, block_max);
    for (int64_t block = 0; block < blocks; ++block) {
      const FloatVec factor = hn::Set(FloatTag(), block_factor(state, block_max[block]));
      const auto f = [factor](FloatVec v) HWY_ATTR { return hn::Mul(v, factor); };
      float* part = row + block * kSoftmaxBlock;
      map_row(std::min(kSoftmaxBlock, x.cols - block * kSoftmaxBlock), part, f, part);
    }
  });
}

void log_softmax_rows(const Execution& execution, const tensor::ConstMatrixView& x,
                      const tensor::MatrixView& y) {
  for_rows(execution, x.rows, x.cols, [&](int64_t r, int) HWY_ATTR {
    const FloatTag d;
    const float* row = x.data + r * x.row_stride;
    const RowState state = exponential_row<false>(row, x.cols, nullptr, nullptr);
    const FloatVec max = hn::Set(d, shift_of(state.max));
    const FloatVec log = hn::Set(d, static_cast<float>(log_sum(state)));
    // The maximum first: for large numbers it cancels exactly, the logarithm would be lost in it.
    const auto f = [max, log](FloatVec v) HWY_ATTR { return hn::Sub(hn::Sub(v, max), log); };
    map_row(x.cols, y.data + r * y.row_stride, f, row);
  });
}

// dx = y * (dy - sum(dy * y)).
void softmax_rows_backward(const Execution& execution, const tensor::ConstMatrixView& y,
                           const tensor::ConstMatrixView& dy, const tensor::MatrixView& dx) {
  for_rows(execution, y.rows, y.cols, [&](int64_t r, int) HWY_ATTR {
    const float* row = y.data + r * y.row_stride;
    const float* dy_row = dy.data + r * dy.row_stride;
    float* dx_row = dx.data + r * dx.row_stride;
    const auto product = [](FloatVec a, FloatVec b) HWY_ATTR { return hn::Mul(a, b); };
    const FloatVec mean =
        hn::Set(FloatTag(), static_cast<float>(sum_row(y.cols, product, row, dy_row)));
    const auto f = [mean](FloatVec v, FloatVec dv, FloatVec sum)
                       HWY_ATTR { return hn::MulAdd(v, hn::Sub(dv, mean), sum); };
    map_row(y.cols, dx_row, f, row, dy_row, dx_row);
  });
}

// dx = dy - exp(y) * sum(dy).
void log_softmax_rows_backward(const Execution& execution, const tensor::ConstMatrixView& y,
                               const tensor::ConstMatrixView& dy, const tensor::MatrixView& dx) {
  for_rows(execution, y.rows, y.cols, [&](int64_t r, int) HWY_ATTR {
    const FloatTag d;
    const float* dy_row = dy.data + r * dy.row_stride;
    float* dx_row = dx.data + r * dx.row_stride;
    const auto same = [](FloatVec v) HWY_ATTR { return v; };
    const FloatVec total = hn::Set(d, static_cast<float>(sum_row(y.cols, same, dy_row)));
    const auto f = [d, total](FloatVec v, FloatVec dv, FloatVec sum) HWY_ATTR {
      return hn::Add(sum, hn::NegMulAdd(exp_softmax(d, v), total, dv));
    };
    map_row(y.cols, dx_row, f, y.data + r * y.row_stride, dy_row, dx_row);
  });
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HEADLIGHT_EXPORT(softmax_rows);
HEADLIGHT_EXPORT(log_softmax_rows);
HEADLIGHT_EXPORT(softmax_rows_backward);
HEADLIGHT_EXPORT(log_softmax_rows_backward);
}  // namespace

void softmax_forward(const Execution& execution, tensor::ConstMatrixView x, tensor::MatrixView y) {
  HEADLIGHT_DISPATCH(softmax_rows)(execution, x, y);
}

void log_softmax_forward(const Execution& execution, tensor::ConstMatrixView x,
                         tensor::MatrixView y) {
  HEADLIGHT_DISPATCH(log_softmax_rows)(execution, x, y);
}

void softmax_backward(const Execution& execution, tensor::ConstMatrixView y,
                      tensor::ConstMatrixView dy, tensor::MatrixView dx) {
  HEADLIGHT_DISPATCH(softmax_rows_backward)(execution, y, dy, dx);
}

void log_softmax_backward(const Execution& execution, tensor::ConstMatrixView y,
                          tensor::ConstMatrixView dy, tensor::MatrixView dx) {
  HEADLIGHT_DISPATCH(log_softmax_rows_backward)(execution, y, dy, dx);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
