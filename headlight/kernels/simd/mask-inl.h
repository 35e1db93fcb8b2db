// Bias and masks on a strip of scores in L1, and its step of the online softmax. Shared by both
// kinds of attention. Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_MASK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_MASK_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_MASK_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_MASK_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "headlight/kernels/attention_rows.h"
#include "headlight/kernels/simd/math-inl.h"
#include "headlight/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// The row of a score strip: scores[c] belongs to key first_key + c, for columns [begin, end), both
// multiples of the vector length.
struct StripRow {
  int64_t b, h, i;
  int64_t first_key;
  int64_t begin, end;
};

// Adds the bias; -infinity in it hides whatever the score is, NaN included.
inline void add_bias(const AttentionProblem& problem, const StripRow& row, KeyInterval keys,
                     float* scores) {
  const int64_t begin = std::max(row.begin, keys.first - row.first_key);
  const int64_t end = std::min(row.end, keys.last - row.first_key);
  const float* bias = &problem.mask.bias.at(row.b, row.h, row.i, 0);
  const int64_t stride = problem.mask.bias.strides[3];
  for (int64_t c = begin; c < end; ++c) {
    const float added = bias[(row.first_key + c) * stride];
    scores[c] = added == kHidden ? kHidden : scores[c] + added;
  }
}

inline void hide(const tensor::Broadcast<const bool>& mask, bool hidden_when, const StripRow& row,
                 KeyInterval keys, float* scores) {
  const int64_t begin = std::max(row.begin, keys.first - row.first_key);
  const int64_t end = std::min(row.end, keys.last - row.first_key);
  const bool* flags = &mask.at(row.b, row.h, row.i, 0);
  for (int64_t c = begin; c < end; ++c) {
    if (flags[(row.first_key + c) * mask.strides[3]] == hidden_when) scores[c] = kHidden;
  }
}

// Bias, then everything that hides: afterwards a score is -infinity exactly when its key may not be
// seen.
inline void mask_row(const AttentionProblem& problem, const StripRow& row, KeyInterval keys,
                     float* scores) {
  if (problem.mask.bias) add_bias(problem, row, keys, scores);
  if (problem.mask.keep) hide(problem.mask.keep, false, row, keys, scores);
  if (problem.mask.forbid) hide(problem.mask.forbid, true, row, keys, scores);
  const int64_t first = std::clamp(keys.first - row.first_key, row.begin, row.end);
  const int64_t last = std::clamp(keys.last - row.first_key, first, row.end);
  std::fill(scores + row.begin, scores + first, kHidden);
  std::fill(scores + last, scores + row.end, kHidden);
}

// The running maximum and sum of a row.
struct RowState {
  float max = kHidden;
  float sum = 0;
};

// The largest of the scores in columns [begin, end).
HWY_INLINE float largest_score(const float* HWY_RESTRICT scores, int64_t begin, int64_t end) {
  const FloatTag d;
  FloatVec largest = hn::Set(d, kHidden);
  for (int64_t c = begin; c < end; c += kLanes)
    largest = hn::Max(largest, hn::LoadU(d, scores + c));
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// What to subtract from scores: a row that has seen nothing yet has no maximum.
HWY_INLINE float shift_of(float row_max) { return row_max == kHidden ? 0.0f : row_max; }

// Turns scores into exp(score - shift) and returns their sum.
HWY_INLINE float exponentiate(float* HWY_RESTRICT scores, int64_t begin, int64_t end, float shift) {
  const FloatTag d;
  const FloatVec shifts = hn::Set(d, shift);
  FloatVec sums = hn::Zero(d);
  for (int64_t c = begin; c < end; c += kLanes) {
    const FloatVec weight = exp_softmax(d, hn::Sub(hn::LoadU(d, scores + c), shifts));
    hn::StoreU(weight, d, scores + c);
    sums = hn::Add(sums, weight);
  }
  return hn::GetLane(hn::SumOfLanes(d, sums));
}

// exp(score - shift) * inverse_sum, and 0 for a hidden score even in a row that is not a number.
HWY_INLINE FloatVec weight_of(FloatVec score, FloatVec shift, FloatVec inverse_sum) {
  const FloatTag d;
  const FloatVec weight = hn::Mul(exp_softmax(d, hn::Sub(score, shift)), inverse_sum);
  return hn::IfThenZeroElse(hn::Eq(score, hn::Set(d, kHidden)), weight);
}

// Takes the largest score of a tile into the state. Returns the factor that what was summed up so
// far must be multiplied by.
HWY_INLINE float raise_maximum(RowState& state, float largest) {
  const FloatTag d;
  const float row_max = std::max(state.max, largest);
  const float factor = hn::GetLane(exp_softmax(d, hn::Set(d, state.max - shift_of(row_max))));
  state.max = row_max;
  state.sum *= factor;
  return factor;
}

// One tile of a row's online softmax: masked scores become exp(score - max). Returns
// raise_maximum's factor.
HWY_INLINE float softmax_step(float* HWY_RESTRICT scores, int64_t begin, int64_t end,
                              RowState& state) {
  const float factor = raise_maximum(state, largest_score(scores, begin, end));
  state.sum += exponentiate(scores, begin, end, shift_of(state.max));
  return factor;
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
