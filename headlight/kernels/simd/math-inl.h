// Vector functions: exp, tanh and the tail of the normal distribution. Each lane depends on its own
// input only, and NaN stays NaN. Errors given are the largest found over the range, on any
// instruction set. Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_MATH_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_MATH_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_MATH_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The smaller and the larger of a bound and x; NaN in x stays NaN. The order of the operands
// matters: where one is NaN, the instructions of x86 return the second, but Highway's scalar
// functions return the number.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V at_most(D d, float bound, V x) {
  const V high = hn::Set(d, bound);
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return hn::IfThenElse(hn::Gt(x, high), high, x);
#else
  return hn::Min(high, x);
#endif
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V at_least(D d, float bound, V x) {
  const V low = hn::Set(d, bound);
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return hn::IfThenElse(hn::Lt(x, low), low, x);
#else
  return hn::Max(low, x);
#endif
}

// c[0] + c[1] x + c[2] x^2 + ... by Horner's rule.
template <size_t kCount, class D, class V = hn::Vec<D>>
HWY_INLINE V polynomial(D d, V x, const float (&c)[kCount]) {
  V sum = hn::Set(d, c[kCount - 1]);
  for (size_t i = kCount - 1; i > 0; --i) sum = hn::MulAdd(sum, x, hn::Set(d, c[i - 1]));
  return sum;
}

// x = n * kScale * ln 2 + rest with n the nearest integer, and 2^n, for n in [-126, 127]. Adding
// 1.5 * 2^23 + 127 leaves n + 127, the exponent bits of 2^n, at the low end of the sum.
template <class V>
struct PowerOfTwo {
  V rest;
  V power;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE PowerOfTwo<V> take_power(D d, V x, float scale) {
  const hn::RebindToSigned<D> di;
  const V shifter = hn::Set(d, 12582912.0f + 127.0f);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504088896341f / scale), shifter);
  const V n = hn::Sub(shifted, shifter);
  // ln 2 in two parts, the first short enough for n * part to be exact.
  const V rest = hn::NegMulAdd(n, hn::Set(d, scale * 0.693359375f), x);
  return {hn::NegMulAdd(n, hn::Set(d, scale * -2.12194440e-4f), rest),
          hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)))};
}

// exp(x) for x <= 88: within 1.1 ulp with fused multiply-add, 1.4 without; exactly 1 at 0; below
// -87.3 (and for -infinity) exactly 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_softmax(D d, V x) {
  // Minimax of the relative error on |rest| <= ln2 / 2, with the constant 1.
  constexpr float kExp[] = {1.0f,          1.00000003f,    0.499999942f,  0.166664308f,
                            0.0416680047f, 0.00837419561f, 0.00138436064f};
  const PowerOfTwo<V> split = take_power(d, x, 1.0f);
  const V result = hn::Mul(polynomial(d, split.rest, kExp), split.power);
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3f)), result);
}

// tanh(x) = e / (e + 2) with e = exp(2x) - 1 = 2^n exp(2r) - 1 and x = n ln2 / 2 + r. Near 0, n is
// 0 and nothing cancels; from the bound on, e + 2 is e in float and the result exactly 1.
// Within 3.2 ulp and 1.5e-7.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh(D d, V x) {
  const V bounded = at_most(d, 9.02f, at_least(d, -9.02f, x));
  const PowerOfTwo<V> split = take_power(d, bounded, 0.5f);
  // Minimax of the relative error of (exp(2r) - 1) / r on |r| <= ln2 / 4.
  constexpr float kGrowth[] = {2.00000002f,  1.99999992f,  1.33332045f,
                               0.666674210f, 0.267812482f, 0.0888887795f};
  const V growth = hn::Mul(split.rest, polynomial(d, split.rest, kGrowth));
  const V e = hn::MulAdd(growth, split.power, hn::Sub(split.power, hn::Set(d, 1.0f)));
  return hn::Div(e, hn::Add(e, hn::Set(d, 2.0f)));
}

// The probability that a normal number exceeds x, for x >= 0: exp of a polynomial that makes the
// largest error of (1 + x) * tail smallest. It falls without end, so far tails are exactly 0.
// Within 8.5e-8.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V normal_tail(D d, V x) {
  constexpr float kLogTail[] = {-0.69314714205f,  -0.79788692086f,  -0.31828604103f,
                                -0.036427264650f, 0.0049553419907f, -0.00014199857821f,
                                -0.000108894571f, 2.2920769438e-5f, -1.5896460650e-6f};
  return exp_softmax(d, polynomial(d, x, kLogTail));
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
