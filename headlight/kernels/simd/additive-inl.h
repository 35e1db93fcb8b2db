// Additive scoring (R5) of a row against a key tile, and its gradients: what additive attention has
// in place of products. Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_ADDITIVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_ADDITIVE_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_ADDITIVE_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_ADDITIVE_INL_H_
#endif

#include <hwy/highway.h>

#include "headlight/kernels/simd/math-inl.h"
#include "headlight/kernels/simd/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// scores[c] = sum over d of weights[d] * tanh(query[d] + keys[d * pitch + c]), from d = 0 up, for
// columns [begin, end), both multiples of kTileCols.
HWY_INLINE void additive_scores(const float* weights, const float* query, int64_t width,
                                const float* keys, int64_t pitch, int64_t begin, int64_t end,
                                float* HWY_RESTRICT scores) {
  const FloatTag d;
  for (int64_t c = begin; c < end; c += kTileCols) {
    FloatVec sums[kTileVectors];
    for (int v = 0; v < kTileVectors; ++v) sums[v] = hn::Zero(d);
    for (int64_t k = 0; k < width; ++k) {
      const FloatVec weight = hn::Set(d, weights[k]);
      const FloatVec from_query = hn::Set(d, query[k]);
      for (int v = 0; v < kTileVectors; ++v) {
        const FloatVec key = hn::LoadU(d, keys + k * pitch + c + v * kLanes);
        sums[v] = hn::MulAdd(weight, tanh(d, hn::Add(from_query, key)), sums[v]);
      }
    }
    for (int v = 0; v < kTileVectors; ++v) hn::StoreU(sums[v], d, scores + c + v * kLanes);
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
