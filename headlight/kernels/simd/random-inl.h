// Philox4x32-10 on vectors, the same numbers as base::philox, and the dropout factors drawn from
// it. Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_RANDOM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_RANDOM_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_RANDOM_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_RANDOM_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "headlight/base/base.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A weight or activation is kept when its 32 bits are at least probability * 2^32; what is kept is
// multiplied by 1 / (1 - probability). Probability 1 keeps nothing.
struct DropoutRule {
  explicit DropoutRule(float probability)
      : threshold(static_cast<uint32_t>(std::min(std::ceil(probability * 0x1p32), 0x1p32 - 1))),
        factor(probability < 1 ? 1 / (1 - probability) : 0) {}
  uint32_t threshold;
  float factor;
};

// Counter words 1 to 3; word 0 is column / 4, and column % 4 picks one of the four numbers.
struct DropoutCounter {
  uint64_t key;
  uint32_t word_1;
  uint32_t word_2;
  uint32_t word_3;
};

#if HWY_TARGET == HWY_SCALAR

constexpr int64_t kDropoutColumns = 4;

// Writes the factors of kDropoutColumns columns, the first of them `column`, a multiple of 4.
HWY_INLINE void dropout_block(const DropoutCounter& counter, const DropoutRule& rule,
                              int64_t column, float* factors) {
  const base::PhiloxBlock numbers = base::philox(
      {static_cast<uint32_t>(column / 4), counter.word_1, counter.word_2, counter.word_3},
      counter.key);
  for (size_t i = 0; i < 4; ++i) factors[i] = numbers[i] >= rule.threshold ? rule.factor : 0;
}

#else

constexpr int64_t kDropoutColumns = 2 * hn::MaxLanes(hn::ScalableTag<float>());

namespace random_detail {

using Wide = hn::ScalableTag<uint64_t>;
using Narrow = hn::ScalableTag<uint32_t>;
using WideVec = hn::Vec<Wide>;

// The low halves of the lanes hold a word of a counter each; the high halves hold anything.
struct Words {
  WideVec word[4];
};

HWY_INLINE WideVec multiply_low_halves(WideVec a, WideVec b) {
  const Narrow dn;
  return hn::MulEven(hn::BitCast(dn, a), hn::BitCast(dn, b));
}

HWY_INLINE Words philox(Words c, uint64_t key) {
  const Wide dw;
  const WideVec multiplier_0 = hn::Set(dw, 0xD2511F53u);
  const WideVec multiplier_1 = hn::Set(dw, 0xCD9E8D57u);
  uint32_t key_0 = static_cast<uint32_t>(key);
  uint32_t key_1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const WideVec product_0 = multiply_low_halves(c.word[0], multiplier_0);
    const WideVec product_1 = multiply_low_halves(c.word[2], multiplier_1);
    const WideVec keyed_1 = hn::Xor(c.word[1], hn::Set(dw, key_0));
    const WideVec keyed_3 = hn::Xor(c.word[3], hn::Set(dw, key_1));
    c.word[0] = hn::Xor(hn::ShiftRight<32>(product_1), keyed_1);
    c.word[1] = product_1;
    c.word[2] = hn::Xor(hn::ShiftRight<32>(product_0), keyed_3);
    c.word[3] = product_0;
    key_0 += 0x9E3779B9u;
    key_1 += 0xBB67AE85u;
  }
  return c;
}

// Two words of each counter side by side: {a, b} as the low and the high half of a lane.
HWY_INLINE WideVec pair(WideVec a, WideVec b) {
  const Wide dw;
  return hn::Or(hn::And(a, hn::Set(dw, 0xFFFFFFFFu)), hn::ShiftLeft<32>(b));
}

template <class V>
HWY_INLINE void store_factors(V pairs, const DropoutRule& rule, float* factors) {
  const hn::ScalableTag<float> d;
  const Narrow dn;
  const auto bits = hn::BitCast(dn, pairs);
  const auto dropped = hn::Lt(bits, hn::Set(dn, rule.threshold));
  hn::StoreU(hn::IfThenZeroElse(hn::RebindMask(d, dropped), hn::Set(d, rule.factor)), d, factors);
}

}  // namespace random_detail

// Writes the factors of kDropoutColumns columns, the first of them `column`, a multiple of 4.
HWY_INLINE void dropout_block(const DropoutCounter& counter, const DropoutRule& rule,
                              int64_t column, float* factors) {
  namespace detail = random_detail;
  const detail::Wide dw;
  constexpr int64_t kHalf = kDropoutColumns / 2;
  // Interleaving works inside 128-bit parts, which hold two counters: even lanes take the counters
  // of the first half and odd lanes those of the second, so that both halves come out in order.
  constexpr int kLogCounters = hwy::CeilLog2(static_cast<size_t>(kHalf / 4));
  const auto lane = hn::Iota(dw, 0);
  const auto half = hn::ShiftLeft<kLogCounters>(hn::And(lane, hn::Set(dw, 1)));
  const auto place = hn::Add(hn::ShiftRight<1>(lane), half);
  const auto word_0 = hn::Add(hn::Set(dw, static_cast<uint64_t>(column / 4)), place);
  const detail::Words numbers =
      detail::philox({{word_0, hn::Set(dw, counter.word_1), hn::Set(dw, counter.word_2),
                       hn::Set(dw, counter.word_3)}},
                     counter.key);
  const auto low = detail::pair(numbers.word[0], numbers.word[1]);
  const auto high = detail::pair(numbers.word[2], numbers.word[3]);
  detail::store_factors(hn::InterleaveLower(dw, low, high), rule, factors);
  detail::store_factors(hn::InterleaveUpper(dw, low, high), rule, factors + kHalf);
}

#endif

// factors[i] is 0 or 1 / (1 - probability) for column first_column + i; first_column is a multiple
// of 4. The bits of a column are number column % 4 of philox({column / 4, word_1, word_2, word_3},
// key).
inline void dropout_factors(uint64_t key, uint32_t word_1, uint32_t word_2, uint32_t word_3,
                            int64_t first_column, int64_t count, float probability,
                            float* factors) {
  const DropoutRule rule(probability);
  const DropoutCounter counter{key, word_1, word_2, word_3};
  int64_t done = 0;
  for (; done + kDropoutColumns <= count; done += kDropoutColumns) {
    dropout_block(counter, rule, first_column + done, factors + done);
  }
  if (done == count) return;
  float rest[kDropoutColumns];
  dropout_block(counter, rule, first_column + done, rest);
  std::copy(rest, rest + (count - done), factors + done);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
