// Additive scoring (R5) of rows against a key tile, and its gradients: what additive attention has
// in place of products. Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_ADDITIVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_ADDITIVE_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_ADDITIVE_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_ADDITIVE_INL_H_
#endif

#include <hwy/highway.h>

#include "headlight/kernels/simd/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of tile `tile` of one sequence's `count` rows as (width x kKeyTile); columns past the last
// row are zero.
HWY_INLINE void transpose_tile(const tensor::ConstHeadsView& rows, int64_t b, int64_t count,
                               int64_t width, int64_t tile, float* to) {
  const int64_t first = tile * kKeyTile;
  pack_panel({rows.row(b, 0, first), width, 1, std::min(kKeyTile, count - first), rows.row_stride},
             to, kKeyTile);
}

// scores[c] = sum over d of weights[d] * tanh(query[d] + keys[d][c]), from d = 0 up, for columns
// [begin, end), whole vectors.
HWY_INLINE void additive_row(const float* weights, const float* query, int64_t width,
                             const float* keys, int64_t begin, int64_t end,
                             float* HWY_RESTRICT scores) {
  const FloatTag d;
  for (int64_t c = begin; c < end; c += kLanes) {
    FloatVec sum = hn::Zero(d);
    for (int64_t k = 0; k < width; ++k) {
      const FloatVec key = hn::LoadU(d, keys + k * kKeyTile + c);
      const FloatVec t = tanh(d, hn::Add(hn::Set(d, query[k]), key));
      sum = hn::MulAdd(hn::Set(d, weights[k]), t, sum);
    }
    hn::StoreU(sum, d, scores + c);
  }
}

// The score-tile function of additive attention: every score that is used or shown comes from here.
inline void additive_strip(const AttentionProblem& problem, const float* weights,
                           const ScoreStrip& s, bool masked) {
  for (int64_t r = 0; r < s.rows; ++r) {
    float* scores = s.scores + r * kKeyTile;
    const int64_t i = s.first_row + r;
    additive_row(weights, s.query + r * s.query_stride, problem.shape.key_width, s.keys, s.begin,
                 s.end, scores);
    if (!masked) continue;
    mask_row(problem, {s.b, 0, i, s.first_key, s.begin, s.end},
             visible_keys(problem.shape, problem.mask, s.b, i), scores);
  }
}

// The gradients of one row's scores: with t = tanh(query + key_c) and g = d_scores[c], over the
// columns [begin, end) where g is not 0 (what is hidden has no part, whatever it holds):
//   d_weights += g t,  d_query += g weights (1 - t^2),  d_key_c += the same.
// All rows are `padded` long, whole vectors, with zeros for weights past the width; keys and d_keys
// hold the rows of the tile, column 0 first.
struct AdditiveGradients {
  const float* weights;
  float* d_weights;
  int64_t padded;
  const float* keys;
  float* d_keys;
};
HWY_INLINE void additive_row_gradients(const AdditiveGradients& tile, const float* query,
                                       const float* d_scores, int64_t begin, int64_t end,
                                       float* d_query) {
  const FloatTag d;
  for (int64_t k = 0; k < tile.padded; k += kLanes) {
    const FloatVec weight = hn::LoadU(d, tile.weights + k);
    const FloatVec from_query = hn::LoadU(d, query + k);
    FloatVec weight_sum = hn::LoadU(d, tile.d_weights + k);
    FloatVec query_sum = hn::LoadU(d, d_query + k);
    for (int64_t c = begin; c < end; ++c) {
      if (d_scores[c] == 0) continue;
      const FloatVec g = hn::Set(d, d_scores[c]);
      const FloatVec t =
          tanh(d, hn::Add(from_query, hn::LoadU(d, tile.keys + c * tile.padded + k)));
      const FloatVec gt = hn::Mul(g, t);
      const FloatVec slope = hn::Mul(weight, hn::NegMulAdd(gt, t, g));
      float* d_key = tile.d_keys + c * tile.padded + k;
      weight_sum = hn::Add(weight_sum, gt);
      query_sum = hn::Add(query_sum, slope);
      hn::StoreU(hn::Add(hn::LoadU(d, d_key), slope), d, d_key);
    }
    hn::StoreU(weight_sum, d, tile.d_weights + k);
    hn::StoreU(query_sum, d, d_query + k);
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
