// Vector functions: exp, tanh, erf. Each lane depends on its own input only, and NaN stays NaN.
// Errors given are the largest over all floats and all instruction sets, found by trying them.
// Per-target header: include it inside foreach_target files only.
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

// x within [-bound, bound]; NaN stays NaN. The order of the operands matters: where one is NaN, the
// instructions of x86 return the second, but Highway's scalar functions return the number.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V clamp(D d, V x, float bound) {
  const V high = hn::Set(d, bound);
  const V low = hn::Set(d, -bound);
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return hn::IfThenElse(hn::Gt(x, high), high, hn::IfThenElse(hn::Lt(x, low), low, x));
#else
  return hn::Min(high, hn::Max(low, x));
#endif
}

// c[0] + c[1] x + c[2] x^2 + ... by Horner's rule.
template <size_t kCount, class D, class V = hn::Vec<D>>
HWY_INLINE V polynomial(D d, V x, const float (&c)[kCount]) {
  V sum = hn::Set(d, c[kCount - 1]);
  for (size_t i = kCount - 1; i > 0; --i) sum = hn::MulAdd(sum, x, hn::Set(d, c[i - 1]));
  return sum;
}

// exp(x) for x <= 88, exact at 0; below -87.3 (and for -infinity) exactly 0. 2^n * exp(r) with n
// the nearest integer to x * log2(e): adding 1.5 * 2^23 + 127 leaves n + 127, the exponent bits of
// 2^n, at the low end of the sum.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_softmax(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V shifter = hn::Set(d, 12582912.0f + 127.0f);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504088896341f), shifter);
  const V n = hn::Sub(shifted, shifter);
  // ln 2 in two parts, the first short enough for n * part to be exact.
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  // Minimax on |r| <= ln2 / 2 with the constant 1.
  constexpr float kExp[] = {1.0f,          1.00000003f,    0.499999942f,  0.166664308f,
                            0.0416680047f, 0.00837419561f, 0.00138436064f};
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  const V result = hn::Mul(polynomial(d, r, kExp), power);
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3f)), result);
}

// tanh(x) = x * P(x^2) / Q(x^2), minimax of the relative error on |x| <= 9.02, where the float
// nearest to tanh is 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh(D d, V x) {
  constexpr float kNumerator[] = {0.9999999790110361f, 0.1337971766190274f, 0.0034940342537026527f,
                                  2.0583477082470195e-05f, 1.3319067494262915e-08f};
  constexpr float kDenominator[] = {1.0f, 0.4671303290076752f, 0.025871071973091967f,
                                    0.000328309237755149f, 7.762017351148772e-07f};
  const V bounded = clamp(d, x, 9.02f);
  const V square = hn::Mul(bounded, bounded);
  return hn::Div(hn::Mul(bounded, polynomial(d, square, kNumerator)),
                 polynomial(d, square, kDenominator));
}

// erf(x) = x * P(x^2) / Q(x^2), minimax of the relative error on |x| <= 3.93, where the float
// nearest to erf is 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf(D d, V x) {
  constexpr float kNumerator[] = {1.1283791453518919f,    0.19078386751959134f,
                                  0.05279029213001684f,   0.003779611266488463f,
                                  0.0002848087290384476f, 2.0419714820833893e-06f};
  constexpr float kDenominator[] = {1.0f,
                                    0.5024105198418906f,
                                    0.11425753871854877f,
                                    0.014997441218617952f,
                                    0.0011652133697810027f,
                                    3.800408890915474e-05f};
  const V bounded = clamp(d, x, 3.93f);
  const V square = hn::Mul(bounded, bounded);
  return hn::Div(hn::Mul(bounded, polynomial(d, square, kNumerator)),
                 polynomial(d, square, kDenominator));
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
