// What attention's backward passes work on: each worker's memory by name, keys and rows loaded into
// it, and the gradients of a strip of scores. Per-target header: include it inside foreach_target
// files only.
#if defined(HEADLIGHT_KERNELS_SIMD_ATTENTION_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_ATTENTION_BACKWARD_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_ATTENTION_BACKWARD_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_ATTENTION_BACKWARD_INL_H_
#endif

#include <hwy/highway.h>

#include "headlight/kernels/attention.h"
#include "headlight/kernels/attention_rows.h"
#include "headlight/kernels/simd/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Query rows that pass a key tile together: the depth of the products for keys and values.
constexpr int64_t kBackwardRows = 96;

// Sizes that follow from the shape.
struct BackwardSizes {
  explicit BackwardSizes(const AttentionProblem& problem)
      : tiles(round_up(problem.shape.keys, kKeyTile) / kKeyTile),
        blocks(round_up(problem.shape.queries, kBackwardRows) / kBackwardRows),
        key_padded(round_up(problem.shape.key_width, kLanes)),
        value_padded(round_up(problem.shape.value_width, kLanes)),
        positions(problem.position_bias ? problem.shape.queries + tiles * kKeyTile : 0) {}

  int64_t tiles;                     // of keys
  int64_t blocks;                    // of rows
  int64_t key_padded, value_padded;  // widths in whole vectors
  int64_t positions;                 // relative ones of a head's position biases; 0 without
};

// A worker's memory. Rows are padded to whole vectors; query rows that see nothing are zeros.
struct BackwardScratch {
  // Of one sequence and key/value head; only the tiles that hold keys some row may see are there.
  float* keys;         // panels
  float* key_rows;     // (S x key_padded)
  float* values;       // panels
  bool* finite_tiles;  // of keys
  // Of one sequence and query head.
  float* query;         // (T x key_padded)
  float* d_output;      // (T x value_padded), times the gate
  float* query_groups;  // both again as left-hand operands
  float* d_output_groups;
  float* d_query;            // (T x key_padded), summed up before the scale
  float* delta;              // (T,): D
  bool* finite_blocks;       // of query and d_output
  float* position_biases;    // (positions,), by PositionBiases, of row T - 1 and key 0
  float* d_position_biases;  // (positions,)
  // Of one key tile: sums, before the scale.
  float* d_keys;    // (kKeyTile x key_padded)
  float* d_values;  // (kKeyTile x value_padded)
  // Of one block of rows and one key tile, (kBackwardRows x kKeyTile) each.
  float* weights;
  float* d_scores;
  float* capped_scores;
};

// The layout of a worker's memory: `floats(count)` and `flags(count)` give the next part.
template <class Floats, class Flags>
BackwardScratch lay_out_scratch(const AttentionShape& shape, const BackwardSizes& sizes,
                                const Floats& floats, const Flags& flags) {
  const int64_t keys = sizes.tiles * kKeyTile;
  const int64_t group_rows = round_up(shape.queries, kTileRows);
  BackwardScratch scratch;
  scratch.keys = floats(keys * shape.key_width);
  scratch.key_rows = floats(keys * sizes.key_padded);
  scratch.values = floats(keys * shape.value_width);
  scratch.finite_tiles = flags(sizes.tiles);
  scratch.query = floats(shape.queries * sizes.key_padded);
  scratch.d_output = floats(shape.queries * sizes.value_padded);
  scratch.query_groups = floats(group_rows * shape.key_width);
  scratch.d_output_groups = floats(group_rows * shape.value_width);
  scratch.d_query = floats(shape.queries * sizes.key_padded);
  scratch.delta = floats(shape.queries);
  scratch.finite_blocks = flags(sizes.blocks);
  scratch.d_keys = floats(kKeyTile * sizes.key_padded);
  scratch.d_values = floats(kKeyTile * sizes.value_padded);
  scratch.weights = floats(kBackwardRows * kKeyTile);
  scratch.d_scores = floats(kBackwardRows * kKeyTile);
  scratch.capped_scores = floats(kBackwardRows * kKeyTile);
  scratch.position_biases = floats(sizes.positions);
  scratch.d_position_biases = floats(sizes.positions);
  return scratch;
}

// The memory of all workers.
class BackwardMemory {
 public:
  BackwardMemory(const Execution& execution, const AttentionProblem& problem)
      : shape_(problem.shape), sizes_(problem) {
    const auto count_floats = [&](int64_t count) -> float* { return floats_ += count, nullptr; };
    const auto count_flags = [&](int64_t count) -> bool* { return flags_ += count, nullptr; };
    lay_out_scratch(shape_, sizes_, count_floats, count_flags);
    const int64_t workers = execution.threads.size();
    float_block_ = execution.arena.allocate(sizeof(float) * static_cast<size_t>(workers * floats_));
    flag_block_ = execution.arena.allocate(static_cast<size_t>(workers * flags_));
  }

  BackwardScratch of_worker(int worker) const {
    float* floats = reinterpret_cast<float*>(float_block_.get()) + worker * floats_;
    bool* flags = reinterpret_cast<bool*>(flag_block_.get()) + worker * flags_;
    const auto next_of = [](auto*& next) {
      return [&next](int64_t count) {
        auto* part = next;
        next += count;
        return part;
      };
    };
    return lay_out_scratch(shape_, sizes_, next_of(floats), next_of(flags));
  }

 private:
  const AttentionShape& shape_;
  const BackwardSizes sizes_;
  int64_t floats_ = 0, flags_ = 0;  // of one worker
  tensor::Block float_block_, flag_block_;
};

// Loads what the gradients of scores need, and computes them strip by strip.
class ScoreGradients {
 public:
  ScoreGradients(const AttentionProblem& problem, const AttentionOutputs& outputs,
                 tensor::ConstHeadsView d_output)
      : problem_(problem),
        outputs_(outputs),
        d_output_(d_output),
        shape_(problem.shape),
        sizes_(problem),
        positions_(problem) {}

  const BackwardSizes& sizes() const { return sizes_; }
  const PositionBiasSource& positions() const { return positions_; }

  // Keys and values of key/value head g that some row may see. Returns which these are.
  KeyInterval load_keys(int64_t b, int64_t g, const BackwardScratch& to) const {
    const KeyInterval needed =
        seen_keys(shape_, problem_.mask, b, 0, live_queries(shape_, problem_.mask, b)).any;
    const tensor::ConstHeadsView &key = problem_.key, &value = problem_.value;
    for (int64_t tile = 0; tile < sizes_.tiles; ++tile) {
      if (!touches(needed, tile)) continue;
      const int64_t first = tile * kKeyTile;
      pack_panels(key.row(b, g, 0), key.row_stride, shape_.keys, shape_.key_width, tile,
                  to.keys + first * shape_.key_width);
      pack_panels(value.row(b, g, 0), value.row_stride, shape_.keys, shape_.value_width, tile,
                  to.values + first * shape_.value_width);
      to.finite_tiles[tile] =
          copy_rows(key.row(b, g, first), key.row_stride, std::min(kKeyTile, shape_.keys - first),
                    shape_.key_width, to.key_rows + first * sizes_.key_padded, sizes_.key_padded);
    }
    return needed;
  }

  static bool touches(KeyInterval keys, int64_t tile) {
    return keys.first < (tile + 1) * kKeyTile && keys.last > tile * kKeyTile;
  }

  // The position biases of query head h, where there are any.
  void load_positions(int64_t b, int64_t h, const BackwardScratch& to) const {
    positions_.fill({b, h, 0, shape_.queries}, {0, sizes_.tiles * kKeyTile}, to.position_biases);
  }

  // Where these are.
  PositionBiases position_biases(const BackwardScratch& in) const {
    if (sizes_.positions == 0) return {};
    return {in.position_biases, shape_.queries - 1, 0};
  }

  // Query and output gradient of some rows. A row that sees nothing has no part in any gradient,
  // whatever it holds. Returns whether all numbers are finite.
  bool load_rows(const RowBlock& rows, const BackwardScratch& to) const {
    const float* row_sums = outputs_.row_sum + row_index(shape_, rows.b, rows.h, 0);
    const int64_t last = rows.first + rows.count;
    bool finite = true;
    for (int64_t i = rows.first; i < last;) {
      const bool seeing = row_sums[i] != 0;
      int64_t end = i + 1;
      while (end < last && (row_sums[end] != 0) == seeing) ++end;
      if (seeing) {
        finite &= load_seeing_rows({rows.b, rows.h, i, end - i}, to);
      } else {
        std::fill(to.query + i * sizes_.key_padded, to.query + end * sizes_.key_padded, 0.0f);
        std::fill(to.d_output + i * sizes_.value_padded, to.d_output + end * sizes_.value_padded,
                  0.0f);
        std::fill(to.delta + i, to.delta + end, 0.0f);
      }
      i = end;
    }
    pack_row_groups(to.query + rows.first * sizes_.key_padded, sizes_.key_padded, rows.count,
                    shape_.key_width, to.query_groups + rows.first * shape_.key_width);
    pack_row_groups(to.d_output + rows.first * sizes_.value_padded, sizes_.value_padded, rows.count,
                    shape_.value_width, to.d_output_groups + rows.first * shape_.value_width);
    return finite;
  }

  // Fills the strips `weights` with f P (g is in dO already) and `d_scores` with dS, for one block
  // of rows, which see `seen`, and one key tile.
  ScoreStrip strip_of(const RowBlock& rows, int64_t tile, const SeenKeys& seen,
                      const BackwardScratch& in) const {
    ScoreStrip strip{.b = rows.b,
                     .h = rows.h,
                     .first_row = rows.first,
                     .rows = rows.count,
                     .query = in.query_groups + rows.first * shape_.key_width,
                     .keys = in.keys + tile * kKeyTile * shape_.key_width,
                     .scores = in.weights,
                     .position_bias = position_biases(in).of_row(rows.first, tile * kKeyTile)};
    set_columns(strip, tile, seen);
    score_strip(problem_, strip, ScoreStage::masked);
    const float* values = in.values + tile * kKeyTile * shape_.value_width;
    panel_product(in.d_output_groups + rows.first * shape_.value_width, rows.count, values,
                  shape_.value_width, strip.begin, strip.end, in.d_scores);
    for (int64_t r = 0; r < rows.count; ++r) {
      row_gradient(problem_, outputs_, strip.row(r), in.delta[rows.first + r],
                   in.weights + r * kKeyTile, in.d_scores + r * kKeyTile);
    }
    return strip;
  }

  // From the capped score back to the scaled one: dS *= 1 - tanh^2. The capped score is computed
  // again, before bias and masks.
  void through_cap(ScoreStrip strip, const BackwardScratch& in) const {
    strip.scores = in.capped_scores;
    score_strip(problem_, strip, ScoreStage::capped);
    for (int64_t r = 0; r < strip.rows; ++r) {
      for (int64_t c = r * kKeyTile + strip.begin; c < r * kKeyTile + strip.end; ++c) {
        const float tanh = strip.scores[c] / problem_.softcap;
        if (in.d_scores[c] != 0.0f) in.d_scores[c] *= 1.0f - tanh * tanh;
      }
    }
  }

 private:
  bool load_seeing_rows(const RowBlock& rows, const BackwardScratch& to) const {
    const auto [b, h, first, count] = rows;
    float* query = to.query + first * sizes_.key_padded;
    float* d_output = to.d_output + first * sizes_.value_padded;
    const bool is_query_finite =
        copy_rows(problem_.query.row(b, h, first), problem_.query.row_stride, count,
                  shape_.key_width, query, sizes_.key_padded);
    const bool is_d_output_finite =
        copy_rows(d_output_.row(b, h, first), d_output_.row_stride, count, shape_.value_width,
                  d_output, sizes_.value_padded);
    const float gate = gate_of(problem_, b, h);
    for (int64_t i = first; i < first + count; ++i)
      to.delta[i] = gate * output_product(problem_, outputs_, d_output_, b, h, i);
    if (problem_.gates) {
      const auto times_gate = [&](FloatVec x)
                                  HWY_ATTR { return hn::Mul(x, hn::Set(FloatTag(), gate)); };
      map_row(count * sizes_.value_padded, d_output, times_gate, d_output);
    }
    return is_query_finite && is_d_output_finite;
  }

  const AttentionProblem& problem_;
  const AttentionOutputs& outputs_;
  tensor::ConstHeadsView d_output_;
  const AttentionShape& shape_;
  const BackwardSizes sizes_;
  const PositionBiasSource positions_;
};

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
