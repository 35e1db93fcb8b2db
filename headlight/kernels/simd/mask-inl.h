// Bias and masks on a row of scores in L1. Shared by both kinds of attention. Per-target header:
// include it inside foreach_target files only.
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

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
