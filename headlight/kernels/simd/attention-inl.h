// The parts that attention's forward, backward and observation share: packed key and value tiles,
// score strips, products on strips. Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_ATTENTION_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_ATTENTION_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_ATTENTION_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "headlight/kernels/simd/attention_row-inl.h"
#include "headlight/kernels/simd/pack-inl.h"
#include "headlight/kernels/simd/position_bias-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t round_up(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }
// Columns of a strip come in whole register tiles, and in fours, as random numbers do.
constexpr int64_t kColumnUnit = kTileCols < 4 ? 4 : kTileCols;

constexpr int64_t round_down(int64_t count, int64_t unit) { return count / unit * unit; }

// Fetches rows of a head ahead of their use: they lie too far apart for the processor to foresee
// them. A prefetch is dropped when its page is not known yet, so each row's first number is read.
template <class T>
HWY_INLINE void fetch_rows(const tensor::Heads<T>& heads, int64_t b, int64_t h, int64_t first,
                           int64_t count, int64_t width) {
  constexpr int64_t kLine = 16;
  if (width == 0) return;
  for (int64_t i = first; i < first + count; ++i) {
    const float* row = heads.row(b, h, i);
    static_cast<void>(*static_cast<const volatile float*>(row));
    for (int64_t c = kLine; c < width; c += kLine) hwy::Prefetch(row + c);
  }
}

// Copies rows, filling up with zeros to `padded` columns. Returns whether all numbers are finite:
// only then is each of them times 0 again 0.
HWY_INLINE bool copy_rows(const float* from, int64_t from_stride, int64_t rows, int64_t cols,
                          float* to, int64_t padded) {
  const FloatTag d;
  FloatVec zeros = hn::Zero(d);
  float tail = 0;
  for (int64_t r = 0; r < rows; ++r, from += from_stride, to += padded) {
    int64_t c = 0;
    for (; c + kLanes <= cols; c += kLanes) {
      const FloatVec x = hn::LoadU(d, from + c);
      zeros = hn::MulAdd(x, hn::Zero(d), zeros);
      hn::StoreU(x, d, to + c);
    }
    for (; c < cols; ++c) {
      tail += from[c] * 0.0f;
      to[c] = from[c];
    }
    std::fill(to + cols, to + padded, 0.0f);
  }
  return hn::GetLane(hn::SumOfLanes(d, zeros)) + tail == 0.0f;
}

// Rows of tile `tile` out of `count` rows as panels (width x kKeyPanel) from `to` on; columns past
// the last row are zero.
HWY_INLINE void pack_panels(const float* rows, int64_t row_stride, int64_t count, int64_t width,
                            int64_t tile, float* to) {
  const int64_t end = std::min(count, (tile + 1) * kKeyTile);
  for (int64_t key = tile * kKeyTile; key < end; key += kKeyPanel, to += kKeyPanel * width) {
    pack_panel({rows + key * row_stride, width, 1, std::min(kKeyPanel, end - key), row_stride}, to,
               kKeyPanel);
  }
}

// Rows as left-hand operands read them: groups of kTileRows, each (width x kTileRows). `to` has
// room for whole groups.
HWY_INLINE void pack_row_groups(const float* rows, int64_t row_stride, int64_t count, int64_t width,
                                float* to) {
  for (int64_t r = 0; r < count; r += kTileRows, to += kTileRows * width) {
    pack_panel(
        {rows + r * row_stride, width, 1, std::min<int64_t>(kTileRows, count - r), row_stride}, to,
        kTileRows);
  }
}

// out (rows x columns [begin, end)) = groups (rows x depth, by pack_row_groups) * panels (depth x
// kKeyPanel each); out has rows of kKeyTile. Not inlined, as strip_product.
inline HWY_NOINLINE void panel_product(const float* groups, int64_t rows, const float* panels,
                                       int64_t depth, int64_t begin, int64_t end, float* out) {
  for (int64_t c = begin; c < end; c += kTileCols) {
    const float* panel = panels + c / kKeyPanel * kKeyPanel * depth + c % kKeyPanel;
    for (int64_t r = 0; r < rows; r += kTileRows) {
      tile_of<kTileVectors, TileStart::zero, 1>(std::min<int64_t>(kTileRows, rows - r),
                                                {groups + r * depth, 1, kTileRows, panel, kKeyPanel,
                                                 depth, out + r * kKeyTile + c, kKeyTile, nullptr});
    }
  }
}

// c (m x cols) = start + a (m x depth) * b (depth x cols) for rows in groups of kTileRows and whole
// vectors of columns. a, b and c as in TileOperands; m need not be at most kTileRows here.
// kARowStride is a's row stride. Not inlined: it holds a register tile for every number of rows.
template <TileStart kStart, int kARowStride>
HWY_NOINLINE void strip_product(int64_t m, int64_t cols, const TileOperands& o) {
  for (int64_t c = 0; c < cols; c += kTileCols) {
    for (int64_t r = 0; r < m; r += kTileRows) {
      TileOperands part = o;
      part.a += r * o.a_row_stride;
      part.b += c;
      part.c += r * o.c_stride + c;
      if constexpr (kStart == TileStart::scaled_output) part.row_factors += r;
      const int64_t rows = std::min<int64_t>(kTileRows, m - r);
      if (cols - c >= kTileCols) {
        tile_of<kTileVectors, kStart, kARowStride>(rows, part);
      } else {
        tile_of<1, kStart, kARowStride>(rows, part);
      }
    }
  }
}

// The same where b may hold NaN or infinity: a zero of a, which is what hides, meets nothing.
template <TileStart kStart>
HWY_NOINLINE void strip_product_skipping_zeros(int64_t m, int64_t cols, const TileOperands& o) {
  const FloatTag d;
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t c = 0; c < cols; c += kLanes) {
      FloatVec sum = hn::Zero(d);
      if constexpr (kStart != TileStart::zero) sum = hn::LoadU(d, o.c + r * o.c_stride + c);
      if constexpr (kStart == TileStart::scaled_output)
        sum = hn::Mul(sum, hn::Set(d, o.row_factors[r]));
      for (int64_t k = 0; k < o.depth; ++k) {
        const float a = o.a[r * o.a_row_stride + k * o.a_depth_stride];
        if (a != 0.0f) sum = hn::MulAdd(hn::Set(d, a), hn::LoadU(d, o.b + k * o.b_stride + c), sum);
      }
      hn::StoreU(sum, d, o.c + r * o.c_stride + c);
    }
  }
}

template <TileStart kStart, int kARowStride>
void strip_product(int64_t m, int64_t cols, const TileOperands& o, bool finite) {
  if (finite) {
    strip_product<kStart, kARowStride>(m, cols, o);
  } else {
    strip_product_skipping_zeros<kStart>(m, cols, o);
  }
}

// A group of query rows of one sequence and head against columns [begin, end) of one key tile;
// begin and end are multiples of kColumnUnit. scores[r * kKeyTile + c] is row first_row + r, key
// first_key + c.
struct ScoreStrip {
  int64_t b = 0, h = 0;
  int64_t first_row = 0, rows = 0;
  int64_t first_key = 0;
  int64_t begin = 0, end = 0;
  KeyInterval seen_by_all = {};
  const float* query = nullptr;  // from first_row on, by pack_row_groups
  const float* keys = nullptr;   // the panels of the tile
  float* scores = nullptr;
  const float* position_bias = nullptr;  // of first_row and first_key, by PositionBiases; or none

  StripRow row(int64_t r) const { return {b, h, first_row + r, first_key, begin, end}; }
};

// Restricts a strip over tile `tile` to the columns that hold keys some row may see.
HWY_INLINE void set_columns(ScoreStrip& strip, int64_t tile, const SeenKeys& keys) {
  strip.first_key = tile * kKeyTile;
  strip.begin = round_down(std::max<int64_t>(keys.any.first - strip.first_key, 0), kColumnUnit);
  strip.end = round_up(std::min(keys.any.last - strip.first_key, kKeyTile), kColumnUnit);
  strip.seen_by_all = keys.all;
}

// c * tanh(s / c) of one row.
HWY_INLINE void cap_row(float softcap, int64_t begin, int64_t end, float* row) {
  const FloatTag d;
  const FloatVec cap = hn::Set(d, softcap);
  const FloatVec inverse = hn::Set(d, 1.0f / softcap);
  for (int64_t c = begin; c < end; c += kLanes) {
    hn::StoreU(hn::Mul(cap, tanh(d, hn::Mul(hn::LoadU(d, row + c), inverse))), d, row + c);
  }
}

// Scales a row and returns its largest score.
HWY_INLINE float scale_row(float scale, int64_t begin, int64_t end, float* HWY_RESTRICT row) {
  const FloatTag d;
  const FloatVec factor = hn::Set(d, scale);
  FloatVec largest = hn::Set(d, kHidden);
  for (int64_t c = begin; c < end; c += kLanes) {
    const FloatVec score = hn::Mul(hn::LoadU(d, row + c), factor);
    largest = hn::Max(largest, score);
    hn::StoreU(score, d, row + c);
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// The score-tile function: every score that is ever used or shown comes from here. With `largest`,
// each row's largest score is written there.
inline void score_strip(const AttentionProblem& problem, const ScoreStrip& s, ScoreStage stage,
                        float* largest = nullptr) {
  panel_product(s.query, s.rows, s.keys, problem.shape.key_width, s.begin, s.end, s.scores);
  if (stage == ScoreStage::raw) return;
  const AttentionMask& mask = problem.mask;
  const bool element_masks = mask.bias || mask.keep || mask.forbid;
  const auto seen = [&](KeyInterval keys) {
    return !element_masks && keys.first <= s.first_key + s.begin &&
           keys.last >= s.first_key + s.end;
  };
  const bool all_seen = stage != ScoreStage::masked || seen(s.seen_by_all);
  const bool cap = problem.softcap > 0 && stage != ScoreStage::scaled;
  const bool positions = s.position_bias && stage == ScoreStage::masked;
  const bool changed = cap || positions;
  for (int64_t r = 0; r < s.rows; ++r) {
    float* row = s.scores + r * kKeyTile;
    float row_largest = scale_row(problem.scale, s.begin, s.end, row);
    if (changed) {
      if (cap) cap_row(problem.softcap, s.begin, s.end, row);
      if (positions) add_position_bias(s.position_bias - r, s.begin, s.end, row);
    }
    bool masked = false;
    if (!all_seen) {
      const KeyInterval keys = visible_keys(problem.shape, mask, s.b, s.first_row + r);
      masked = !seen(keys);
      if (masked) mask_row(problem, s.row(r), keys, row);
    }
    if (largest) largest[r] = changed || masked ? largest_score(row, s.begin, s.end) : row_largest;
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
