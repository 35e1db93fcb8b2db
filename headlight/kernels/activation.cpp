// Activations and their derivatives over plain arrays.
#include "headlight/kernels/activation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/activation-inl.h"
#include "headlight/kernels/simd/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

void activate_numbers(Activation activation, const float* x, float* y, int64_t count) {
  with_activation(activation, [&](auto constant) HWY_ATTR {
    constexpr Activation kActivation = decltype(constant)::value;
    const auto f = [](FloatVec v) HWY_ATTR { return activate(FloatTag(), kActivation, v); };
    map_row(count, y, f, x);
  });
}

void multiply_by_slope(Activation activation, const float* x, const float* dy, float* dx,
                       int64_t count) {
  with_activation(activation, [&](auto constant) HWY_ATTR {
    constexpr Activation kActivation = decltype(constant)::value;
    const auto f = [](FloatVec v, FloatVec dv) HWY_ATTR {
      return hn::Mul(dv, activation_slope(FloatTag(), kActivation, v));
    };
    map_row(count, dx, f, x, dy);
  });
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HEADLIGHT_EXPORT(activate_numbers);
HEADLIGHT_EXPORT(multiply_by_slope);
}  // namespace

void activation_forward(const Execution& execution, Activation activation, const float* x, float* y,
                        int64_t count) {
  const RowChunks chunks = row_chunks(count, 1);
  execution.threads.parallel_for(chunks.count(), [&](int64_t chunk, int) {
    const int64_t first = chunks.first(chunk);
    HEADLIGHT_DISPATCH(activate_numbers)
    (activation, x + first, y + first, chunks.last(chunk) - first);
  });
}

void activation_backward(const Execution& execution, Activation activation, const float* x,
                         const float* dy, float* dx, int64_t count) {
  const RowChunks chunks = row_chunks(count, 1);
  execution.threads.parallel_for(chunks.count(), [&](int64_t chunk, int) {
    const int64_t first = chunks.first(chunk);
    HEADLIGHT_DISPATCH(multiply_by_slope)
    (activation, x + first, dy + first, dx + first, chunks.last(chunk) - first);
  });
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
