// Activations and their derivatives over plain arrays.
#include "headlight/kernels/activation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/activation-inl.h"
#include "headlight/kernels/simd/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

template <Activation kActivation>
void activate_range(const float* x, float* y, int64_t count) {
  const auto f = [](FloatVec v) HWY_ATTR { return activate(FloatTag(), kActivation, v); };
  map_row(count, y, f, x);
}

template <Activation kActivation>
void slope_range(const float* x, const float* dy, float* dx, int64_t count) {
  const auto f = [](FloatVec v, FloatVec dv)
                     HWY_ATTR { return hn::Mul(dv, activation_slope(FloatTag(), kActivation, v)); };
  map_row(count, dx, f, x, dy);
}

void activate_numbers(Activation activation, const float* x, float* y, int64_t count) {
  switch (activation) {
    case Activation::none:
      return activate_range<Activation::none>(x, y, count);
    case Activation::relu:
      return activate_range<Activation::relu>(x, y, count);
    case Activation::gelu:
      return activate_range<Activation::gelu>(x, y, count);
    case Activation::gelu_tanh:
      return activate_range<Activation::gelu_tanh>(x, y, count);
  }
}

void multiply_by_slope(Activation activation, const float* x, const float* dy, float* dx,
                       int64_t count) {
  switch (activation) {
    case Activation::none:
      return slope_range<Activation::none>(x, dy, dx, count);
    case Activation::relu:
      return slope_range<Activation::relu>(x, dy, dx, count);
    case Activation::gelu:
      return slope_range<Activation::gelu>(x, dy, dx, count);
    case Activation::gelu_tanh:
      return slope_range<Activation::gelu_tanh>(x, dy, dx, count);
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HWY_EXPORT(activate_numbers);
HWY_EXPORT(multiply_by_slope);
}  // namespace

void activation_forward(const Execution& execution, Activation activation, const float* x, float* y,
                        int64_t count) {
  const RowChunks chunks = row_chunks(count, 1);
  execution.threads.parallel_for(chunks.count(), [&](int64_t chunk, int) {
    const int64_t first = chunks.first(chunk);
    HWY_DYNAMIC_DISPATCH(activate_numbers)
    (activation, x + first, y + first, chunks.last(chunk) - first);
  });
}

void activation_backward(const Execution& execution, Activation activation, const float* x,
                         const float* dy, float* dx, int64_t count) {
  const RowChunks chunks = row_chunks(count, 1);
  execution.threads.parallel_for(chunks.count(), [&](int64_t chunk, int) {
    const int64_t first = chunks.first(chunk);
    HWY_DYNAMIC_DISPATCH(multiply_by_slope)
    (activation, x + first, dy + first, dx + first, chunks.last(chunk) - first);
  });
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
