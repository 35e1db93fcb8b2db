// Additive scoring of a query row against a key tile: what additive attention's forward, backward
// and observation share. Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_ADDITIVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_ADDITIVE_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_ADDITIVE_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_ADDITIVE_INL_H_
#endif

#include <hwy/highway.h>

#include "headlight/kernels/additive_attention.h"
#include "headlight/kernels/simd/attention_row-inl.h"
#include "headlight/kernels/simd/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of tile `tile` of one sequence's `count` rows as (width x kKeyTile); columns past the last
// row are zero.
HWY_INLINE void transpose_tile(const tensor::ConstHeadsView& rows, int64_t b, int64_t count,
                               int64_t width, int64_t tile, float* to) {
  const int64_t first = tile * kKeyTile;
  const int64_t columns = std::min(kKeyTile, count - first);
  pack_panel({rows.row(b, 0, first), width, 1, columns, rows.row_stride}, to, kKeyTile);
}

// Row i of sequence b and the columns of a tile that hold keys of the interval: whole vectors, and
// fours, as random numbers come in.
HWY_INLINE StripRow tile_row(int64_t b, int64_t i, int64_t tile, KeyInterval keys) {
  constexpr int64_t kUnit = kLanes < 4 ? 4 : kLanes;
  const int64_t first_key = tile * kKeyTile;
  const int64_t first = std::clamp<int64_t>(keys.first - first_key, 0, kKeyTile);
  const int64_t last = std::clamp<int64_t>(keys.last - first_key, first, kKeyTile);
  return {b, 0, i, first_key, first / kUnit * kUnit, (last + kUnit - 1) / kUnit * kUnit};
}

// The score-tile function of additive attention: every score that is used or shown comes from here.
// scores[c] = sum over d of weights[d] * tanh(query[d] + keys[d][c]), from d = 0 up.
HWY_INLINE void additive_scores(const AttentionProblem& problem, const float* weights,
                                const StripRow& row, const float* keys,
                                float* HWY_RESTRICT scores) {
  const FloatTag d;
  const float* query = problem.query.row(row.b, 0, row.i);
  for (int64_t c = row.begin; c < row.end; c += kLanes) {
    FloatVec sum = hn::Zero(d);
    for (int64_t k = 0; k < problem.shape.key_width; ++k) {
      const FloatVec key = hn::LoadU(d, keys + k * kKeyTile + c);
      const FloatVec t = tanh(d, hn::Add(hn::Set(d, query[k]), key));
      sum = hn::MulAdd(hn::Set(d, weights[k]), t, sum);
    }
    hn::StoreU(sum, d, scores + c);
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
