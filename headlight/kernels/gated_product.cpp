// The product of a gated feed-forward layer, row by row.
#include "headlight/kernels/gated_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/gated_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/activation-inl.h"
#include "headlight/kernels/simd/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

void gated_row(Activation activation, const float* gate, const float* up, float* y, int64_t count) {
  with_activation(activation, [&](auto constant) HWY_ATTR {
    constexpr Activation kActivation = decltype(constant)::value;
    const auto f = [](FloatVec g, FloatVec u)
                       HWY_ATTR { return hn::Mul(activate(FloatTag(), kActivation, g), u); };
    map_row(count, y, f, gate, up);
  });
}

// dgate = dy * up * f'(gate).
void gate_gradient_row(Activation activation, const float* gate, const float* up, const float* dy,
                       float* dgate, bool accumulate, int64_t count) {
  with_activation(activation, [&](auto constant) HWY_ATTR {
    constexpr Activation kActivation = decltype(constant)::value;
    for_vectors(0, count, [&](auto at) HWY_ATTR {
      const FloatVec slope = activation_slope(FloatTag(), kActivation, at.load(gate));
      const FloatVec gradient = hn::Mul(hn::Mul(at.load(dy), at.load(up)), slope);
      at.store(accumulate ? hn::Add(at.load(dgate), gradient) : gradient, dgate);
    });
  });
}

// dup = dy * f(gate).
void up_gradient_row(Activation activation, const float* gate, const float* dy, float* dup,
                     bool accumulate, int64_t count) {
  with_activation(activation, [&](auto constant) HWY_ATTR {
    constexpr Activation kActivation = decltype(constant)::value;
    for_vectors(0, count, [&](auto at) HWY_ATTR {
      const FloatVec activated = activate(FloatTag(), kActivation, at.load(gate));
      const FloatVec gradient = hn::Mul(at.load(dy), activated);
      at.store(accumulate ? hn::Add(at.load(dup), gradient) : gradient, dup);
    });
  });
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HEADLIGHT_EXPORT(gated_row);
HEADLIGHT_EXPORT(gate_gradient_row);
HEADLIGHT_EXPORT(up_gradient_row);
}  // namespace

void gated_product_forward(const Execution& execution, Activation activation,
                           tensor::ConstMatrixView gate, tensor::ConstMatrixView up,
                           tensor::MatrixView y) {
  for_rows(execution, y.rows, y.cols, [&](int64_t row, int) {
    HEADLIGHT_DISPATCH(gated_row)
    (activation, gate.data + row * gate.row_stride, up.data + row * up.row_stride,
     y.data + row * y.row_stride, y.cols);
  });
}

void gated_product_backward(const Execution& execution, Activation activation,
                            tensor::ConstMatrixView gate, tensor::ConstMatrixView up,
                            tensor::ConstMatrixView dy, const GatedProductGradients& gradients) {
  // A row is in the cache for its second gradient.
  for_rows(execution, dy.rows, 3 * dy.cols, [&](int64_t row, int) {
    const float* gate_row = gate.data + row * gate.row_stride;
    const float* dy_row = dy.data + row * dy.row_stride;
    if (gradients.gate.data != nullptr) {
      HEADLIGHT_DISPATCH(gate_gradient_row)
      (activation, gate_row, up.data + row * up.row_stride, dy_row,
       gradients.gate.data + row * gradients.gate.row_stride, gradients.accumulate_gate, dy.cols);
    }
    if (gradients.up.data != nullptr) {
      HEADLIGHT_DISPATCH(up_gradient_row)
      (activation, gate_row, dy_row, gradients.up.data + row * gradients.up.row_stride,
       gradients.accumulate_up, dy.cols);
    }
  });
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
