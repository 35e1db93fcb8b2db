// The exponentials of a row and their sum in one pass over memory: the row is taken in blocks that
// stay in L1, each relative to the largest number met so far, and what came before is scaled down
// when that grows. Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_SOFTMAX_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_SOFTMAX_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_SOFTMAX_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>

#include "headlight/kernels/simd/mask-inl.h"
#include "headlight/kernels/simd/math-inl.h"
#include "headlight/kernels/simd/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What to subtract from numbers: a row of nothing but -infinity has no maximum.
HWY_INLINE float shift_of(float row_max) { return row_max == kHidden ? 0.0f : row_max; }

// The maximum of a row and the sum of exp(x - maximum).
struct RowState {
  float max = kHidden;
  float sum = 0;
};

constexpr int64_t kSoftmaxBlock = 2048;

constexpr int64_t softmax_blocks(int64_t cols) {
  return (cols + kSoftmaxBlock - 1) / kSoftmaxBlock;
}

// The sum of exp(x - shift) over `count` numbers; with kStore they are written to y, which may be
// x.
template <bool kStore>
HWY_INLINE float sum_exponentials(const float* x, int64_t count, float shift, float* y) {
  const FloatTag d;
  const FloatVec shifts = hn::Set(d, shift);
  FloatVec sum = hn::Zero(d);
  for_vectors(0, count, [&](auto at) HWY_ATTR {
    const FloatVec power = exp_softmax(d, hn::Sub(at.load(x), shifts));
    if constexpr (kStore) at.store(power, y);
    sum = hn::Add(sum, at.within(power, hn::Zero(d)));
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// Maximum and sum of exp(x - maximum) of a row. With kStore, y (which may be x) receives the
// exponentials, each block relative to the maximum that block_max then holds for it.
template <bool kStore>
HWY_INLINE RowState exponential_row(const float* x, int64_t cols, float* y, float* block_max) {
  RowState state;
  for (int64_t block = 0; block < softmax_blocks(cols); ++block) {
    const int64_t first = block * kSoftmaxBlock;
    const int64_t count = std::min(kSoftmaxBlock, cols - first);
    const float largest = max_row(count, x + first);
    if (block == 0) {
      state.max = largest;
    } else if (state.max < largest) {
      const FloatTag d;
      state.sum *= hn::GetLane(exp_softmax(d, hn::Set(d, state.max - largest)));
      state.max = largest;
    }
    float* to = nullptr;
    if constexpr (kStore) {
      to = y + first;
      block_max[block] = state.max;
    }
    state.sum += sum_exponentials<kStore>(x + first, count, shift_of(state.max), to);
  }
  return state;
}

// What block `block` of the exponentials must be multiplied by to be the softmax: 0 for a row of
// only -infinity.
HWY_INLINE float block_factor(const RowState& state, float block_max) {
  if (state.sum == 0) return 0;
  if (block_max == state.max) return 1 / state.sum;
  const FloatTag d;
  return hn::GetLane(exp_softmax(d, hn::Set(d, block_max - state.max))) / state.sum;
}

// log of the sum of exp(x - max); 0 for a row of only -infinity, which then stays -infinity.
HWY_INLINE double log_sum(const RowState& state) {
  return state.sum == 0 ? 0 : std::log(static_cast<double>(state.sum));
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
