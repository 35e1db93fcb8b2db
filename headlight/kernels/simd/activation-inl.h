// The activations on vectors, for the kernels of their own and for the end of a matrix product.
// Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_ACTIVATION_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_ACTIVATION_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_ACTIVATION_INL_H_
#endif

#include <hwy/highway.h>

#include "headlight/kernels/activation.h"
#include "headlight/kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

namespace activation_detail {

// Past this both GELUs are x or 0 to the last bit, and x cubed is still far from overflowing.
constexpr float kSaturated = 20.0f;
constexpr float kInverseSqrt2 = 0.707106781f;
constexpr float kInverseSqrt2Pi = 0.398942280f;
constexpr float kTanhSlope = 0.797884561f;  // sqrt(2 / pi)
constexpr float kTanhCubic = 0.044715f;

// tanh of GPT-2's sqrt(2 / pi) * (x + 0.044715 x^3).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_tanh(D d, V x, V square) {
  const V cubic = hn::MulAdd(square, hn::Set(d, kTanhSlope * kTanhCubic), hn::Set(d, kTanhSlope));
  return tanh(d, hn::Mul(x, cubic));
}

// x * (1 + t) / 2; where t is -1 the result is 0, for x = -infinity too.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V half_gated(D d, V x, V t) {
  const V gate = hn::MulAdd(t, hn::Set(d, 0.5f), hn::Set(d, 0.5f));
  return hn::IfThenZeroElse(hn::Eq(gate, hn::Zero(d)), hn::Mul(x, gate));
}

}  // namespace activation_detail

// f(x).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V activate(D d, Activation activation, V x) {
  namespace detail = activation_detail;
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
    case Activation::gelu:
      return detail::half_gated(d, x, erf(d, hn::Mul(x, hn::Set(d, detail::kInverseSqrt2))));
    case Activation::gelu_tanh:
      return detail::half_gated(d, x, detail::gelu_tanh(d, x, hn::Mul(x, x)));
  }
  return x;
}

// f'(x); ReLU's is 0 at 0. GELU: Phi(x) + x phi(x). With t = tanh(u): (1 + t) / 2 + x (1 - t^2) u'
// / 2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V activation_slope(D d, Activation activation, V x) {
  namespace detail = activation_detail;
  const V one = hn::Set(d, 1.0f);
  const V half = hn::Set(d, 0.5f);
  const V bounded = clamp(d, x, detail::kSaturated);
  const V square = hn::Mul(bounded, bounded);
  switch (activation) {
    case Activation::none:
      return one;
    case Activation::relu:
      return hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), one);
    case Activation::gelu: {
      const V t = erf(d, hn::Mul(bounded, hn::Set(d, detail::kInverseSqrt2)));
      const V density = hn::Mul(exp_softmax(d, hn::Mul(square, hn::Set(d, -0.5f))),
                                hn::Set(d, detail::kInverseSqrt2Pi));
      return hn::MulAdd(bounded, density, hn::MulAdd(t, half, half));
    }
    case Activation::gelu_tanh: {
      const V t = detail::gelu_tanh(d, bounded, square);
      const V slope = hn::MulAdd(square, hn::Set(d, 3 * detail::kTanhSlope * detail::kTanhCubic),
                                 hn::Set(d, detail::kTanhSlope));
      const V cosh_factor = hn::NegMulAdd(t, t, one);
      return hn::Mul(half, hn::MulAdd(hn::Mul(bounded, cosh_factor), slope, hn::Add(t, one)));
    }
  }
  return one;
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
