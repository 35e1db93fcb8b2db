// The activations on vectors, for the kernels of their own and for the end of a matrix product.
// Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_ACTIVATION_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_ACTIVATION_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_ACTIVATION_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "headlight/kernels/activation.h"
#include "headlight/kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

namespace activation_detail {

constexpr float kInverseSqrt2Pi = 0.398942280f;
constexpr float kTanhSlope = 0.797884561f;  // sqrt(2 / pi)
constexpr float kTanhCubic = 0.044715f;

// |x|, but no more than 50: there the GELUs have long been x or 0 to the last bit, and nothing
// overflows.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V bounded_size(D d, V x) {
  return at_most(d, 50.0f, hn::Abs(x));
}

// |x|, but no more than 100, where exp(-|x|) is exactly 0: SiLU ends later than the GELUs.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V bounded_for_silu(D d, V x) {
  return at_most(d, 100.0f, hn::Abs(x));
}

// exp(-2u) with u = sqrt(2 / pi) * (a + 0.044715 a^3), for a >= 0: (1 - tanh u) / 2 = e / (1 + e).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh_tail_exponential(D d, V a, V square) {
  const V slope =
      hn::MulAdd(square, hn::Set(d, -2 * kTanhSlope * kTanhCubic), hn::Set(d, -2 * kTanhSlope));
  return exp_softmax(d, hn::Mul(a, slope));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V relu(D d, V x) {
  return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
}

// 1 - tail where x > 0, tail where not: what a GELU or SiLU multiplies x by.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gate(D d, V x, V tail) {
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 1.0f), tail), tail);
}

}  // namespace activation_detail

// f(x). A GELU is relu(x) - |x| * tail(|x|), the tail of the normal distribution or of GPT-2's
// likeness of it, and SiLU the same with the logistic one, e / (1 + e) of e = exp(-|x|): exact for
// both signs, since nothing cancels where x is negative.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V activate(D d, Activation activation, V x) {
  namespace detail = activation_detail;
  if (activation == Activation::none) return x;
  if (activation == Activation::tanh) return tanh(d, x);
  const V positive = detail::relu(d, x);
  if (activation == Activation::relu) return positive;
  if (activation == Activation::silu) {
    const V a = detail::bounded_for_silu(d, x);
    const V e = exp_softmax(d, hn::Neg(a));
    return hn::Sub(positive, hn::Div(hn::Mul(a, e), hn::Add(e, hn::Set(d, 1.0f))));
  }
  const V a = detail::bounded_size(d, x);
  if (activation == Activation::gelu) return hn::NegMulAdd(a, normal_tail(d, a), positive);
  const V e = detail::tanh_tail_exponential(d, a, hn::Mul(a, a));
  return hn::Sub(positive, hn::Div(hn::Mul(a, e), hn::Add(e, hn::Set(d, 1.0f))));
}

// f'(x); ReLU's is 0 at 0. With g(x) the gate, g'(x) = density(|x|) for both GELUs and SiLU, so
// that f' = g + x * density. The density is
//   of the tanh form:  2 u' * (1 - g) * g = 2 u' * e / (1 + e)^2
//   of SiLU:           e / (1 + e)^2
// Of tanh f' = 1 - tanh^2 = 4 t (1 - t) with the tail t = e / (1 + e) of e = exp(-2|x|).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V activation_slope(D d, Activation activation, V x) {
  namespace detail = activation_detail;
  const V one = hn::Set(d, 1.0f);
  if (activation == Activation::none) return one;
  if (activation == Activation::relu) {
    return hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), one);
  }
  if (activation == Activation::tanh) {
    const V e = exp_softmax(d, hn::Mul(detail::bounded_for_silu(d, x), hn::Set(d, -2.0f)));
    const V tail = hn::Div(e, hn::Add(e, one));
    const V four_tails = hn::Mul(hn::Set(d, 4.0f), tail);
    return hn::NegMulAdd(four_tails, tail, four_tails);
  }
  if (activation == Activation::silu) {
    const V a = detail::bounded_for_silu(d, x);
    const V e = exp_softmax(d, hn::Neg(a));
    const V inverse = hn::Div(one, hn::Add(e, one));
    const V tail = hn::Mul(e, inverse);
    return hn::MulAdd(hn::CopySignToAbs(a, x), hn::Mul(tail, inverse), detail::gate(d, x, tail));
  }
  const V a = detail::bounded_size(d, x);
  const V square = hn::Mul(a, a);
  const V signed_a = hn::CopySignToAbs(a, x);
  if (activation == Activation::gelu) {
    const V density = hn::Mul(exp_softmax(d, hn::Mul(square, hn::Set(d, -0.5f))),
                              hn::Set(d, detail::kInverseSqrt2Pi));
    return hn::MulAdd(signed_a, density, detail::gate(d, x, normal_tail(d, a)));
  }
  const V e = detail::tanh_tail_exponential(d, a, square);
  const V inverse = hn::Div(one, hn::Add(e, one));
  const V tail = hn::Mul(e, inverse);
  const V twice_slope = hn::MulAdd(square, hn::Set(d, 6 * detail::kTanhSlope * detail::kTanhCubic),
                                   hn::Set(d, 2 * detail::kTanhSlope));
  const V density = hn::Mul(hn::Mul(tail, inverse), twice_slope);
  return hn::MulAdd(signed_a, density, detail::gate(d, x, tail));
}

// Calls f with the activation as a constant, so that the loop in f knows it.
template <class F>
HWY_INLINE void with_activation(Activation activation, const F& f) {
  switch (activation) {
    case Activation::none:
      return f(std::integral_constant<Activation, Activation::none>());
    case Activation::relu:
      return f(std::integral_constant<Activation, Activation::relu>());
    case Activation::gelu:
      return f(std::integral_constant<Activation, Activation::gelu>());
    case Activation::gelu_tanh:
      return f(std::integral_constant<Activation, Activation::gelu_tanh>());
    case Activation::silu:
      return f(std::integral_constant<Activation, Activation::silu>());
    case Activation::tanh:
      return f(std::integral_constant<Activation, Activation::tanh>());
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
