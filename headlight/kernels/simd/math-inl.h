// Vector functions: exp. Each lane depends on its own input only. Per-target header: include it
// inside foreach_target files only.
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

// exp(x) for x <= 88, about 1 ulp; below -87.3 (and for -infinity) exactly 0, NaN stays NaN. 2^n *
// 2^r with n the nearest integer to x * log2(e), which adding 1.5 * 2^23 leaves in the low bits of
// the sum.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_softmax(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V log2e = hn::Set(d, 1.44269504088896341f);
  const V shifter = hn::Set(d, 12582912.0f);
  const V shifted = hn::MulAdd(x, log2e, shifter);
  const V n = hn::Sub(shifted, shifter);
  // ln 2 in two parts, the first short enough for n * part to be exact.
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  // exp(r) on |r| <= ln2/2, minimax of degree 6 with the first two coefficients 1.
  V p = hn::Set(d, 1.3985858e-3f);
  p = hn::MulAdd(p, r, hn::Set(d, 8.3339502e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665938e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666654e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const V result = hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.3f)), result);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
