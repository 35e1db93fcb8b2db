// Attention backward: scores are computed again, nothing of size (queries x keys) is kept. A task
// takes one key/value head through its query heads and key tiles; for each tile the query rows pass
// in blocks. With P the weights, f the dropout factors, g the gate:
//   dV = (g f P)^T dO,  dP = g f (dO V^T),  dS = P (dP - D) with D_i = g dO_i . O_i,  dQ = scale dS
//   K,  dK = scale dS^T Q.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/attention_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/attention.h"
#include "headlight/kernels/attention_rows.h"
#include "headlight/kernels/simd/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

// Query rows that pass a key tile together: the depth of the products for keys and values.
constexpr int64_t kBackwardRows = 96;
// Fewer fit the edge of what is seen more closely.
constexpr int64_t kEdgeRows = 24;
static_assert(kEdgeRows % kTileRows == 0, "rows are grouped for the products");

// What one (sequence, key/value head) brings.
struct KeySide {
  float* keys;              // tiles
  float* key_rows;          // (S x key_padded)
  float* values;            // tiles
  bool* finite;             // per tile of keys
  KeyInterval needed = {};  // what some row may see; only the tiles that hold it are there
};

// What one (sequence, query head) brings: rows copied and padded to whole vectors, rows that see
// nothing as zeros.
struct QuerySide {
  float* query;         // (T x key_padded)
  float* d_output;      // (T x value_padded), times the gate
  float* query_groups;  // both again as left-hand operands
  float* d_output_groups;
  float* d_query;  // (T x key_padded), summed up before the scale
  float* delta;    // (T,): D
  bool* finite;    // per block of rows
};

class Backward {
 public:
  Backward(const Execution& execution, const AttentionProblem& problem,
           const AttentionOutputs& outputs, tensor::ConstHeadsView d_output,
           const AttentionGradients& gradients)
      : execution_(execution),
        problem_(problem),
        outputs_(outputs),
        d_output_(d_output),
        gradients_(gradients),
        shape_(problem.shape) {
    tiles_ = round_up(shape_.keys, kKeyTile) / kKeyTile;
    blocks_ = round_up(shape_.queries, kBackwardRows) / kBackwardRows;
    key_padded_ = round_up(shape_.key_width, kLanes);
    value_padded_ = round_up(shape_.value_width, kLanes);
  }

  void run() {
    allocate();
    if (gradients_.query.data) {
      execution_.threads.parallel_for(
          shape_.batch * shape_.kv_heads, [&](int64_t index, int worker) {
            key_value_head(index / shape_.kv_heads, index % shape_.kv_heads, worker);
          });
    }
    if (gradients_.bias) bias_gradient();
    if (gradients_.gates)
      gate_gradient(execution_, problem_, outputs_, d_output_, gradients_.gates);
  }

 private:
  // Per worker: a key side, a query side, tile sums and three strips.
  void allocate() {
    keys_size_ = tiles_ * kKeyTile * (shape_.key_width + key_padded_ + shape_.value_width);
    group_rows_ = round_up(shape_.queries, kTileRows);
    side_size_ = shape_.queries * (2 * key_padded_ + value_padded_ + 1) +
                 group_rows_ * (shape_.key_width + shape_.value_width);
    worker_size_ = keys_size_ + side_size_ + kKeyTile * (key_padded_ + value_padded_) +
                   3 * kBackwardRows * kKeyTile;
    const int64_t workers = execution_.threads.size();
    scratch_ =
        execution_.arena.allocate(sizeof(float) * static_cast<size_t>(workers * worker_size_));
    finite_ = execution_.arena.allocate(static_cast<size_t>(workers * (tiles_ + blocks_)));
  }

  float* worker_scratch(int worker) const {
    return reinterpret_cast<float*>(scratch_.get()) + worker * worker_size_;
  }
  float* tile_sums(int worker) const { return worker_scratch(worker) + keys_size_ + side_size_; }
  float* strips(int worker) const {
    return tile_sums(worker) + kKeyTile * (key_padded_ + value_padded_);
  }

  KeySide key_side(int worker) const {
    KeySide side;
    side.keys = worker_scratch(worker);
    side.key_rows = side.keys + tiles_ * kKeyTile * shape_.key_width;
    side.values = side.key_rows + tiles_ * kKeyTile * key_padded_;
    side.finite = reinterpret_cast<bool*>(finite_.get()) + worker * (tiles_ + blocks_);
    return side;
  }

  KeySide load_keys(int64_t b, int64_t g, int worker) const {
    KeySide to = key_side(worker);
    to.needed = seen_keys(shape_, problem_.mask, b, 0, live_queries(shape_, problem_.mask, b)).any;
    const tensor::ConstHeadsView &key = problem_.key, &value = problem_.value;
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      if (!touches(to.needed, tile)) continue;
      const int64_t first = tile * kKeyTile;
      pack_panels(key.row(b, g, 0), key.row_stride, shape_.keys, shape_.key_width, tile,
                  to.keys + first * shape_.key_width);
      pack_panels(value.row(b, g, 0), value.row_stride, shape_.keys, shape_.value_width, tile,
                  to.values + first * shape_.value_width);
      to.finite[tile] =
          copy_rows(key.row(b, g, first), key.row_stride, std::min(kKeyTile, shape_.keys - first),
                    shape_.key_width, to.key_rows + first * key_padded_, key_padded_);
    }
    return to;
  }

  static bool touches(KeyInterval keys, int64_t tile) {
    return keys.first < (tile + 1) * kKeyTile && keys.last > tile * kKeyTile;
  }

  // Whether rows see different keys of a tile.
  static bool is_edge(const SeenKeys& seen, int64_t tile) {
    const int64_t first = tile * kKeyTile, last = first + kKeyTile;
    return std::max(seen.any.first, first) < std::min(seen.all.first, last) ||
           std::min(seen.any.last, last) > std::max(seen.all.last, first);
  }

  QuerySide query_side(int worker) const {
    QuerySide side;
    side.query = worker_scratch(worker) + keys_size_;
    side.d_output = side.query + shape_.queries * key_padded_;
    side.query_groups = side.d_output + shape_.queries * value_padded_;
    side.d_output_groups = side.query_groups + group_rows_ * shape_.key_width;
    side.d_query = side.d_output_groups + group_rows_ * shape_.value_width;
    side.delta = side.d_query + shape_.queries * key_padded_;
    side.finite = key_side(worker).finite + tiles_;
    return side;
  }

  // Rows [first, first + count) of the query side. A row that sees nothing has no part in any
  // gradient, whatever it holds.
  bool load_rows(int64_t b, int64_t h, int64_t first, int64_t count, const QuerySide& to) const {
    const float* row_sums = outputs_.row_sum + row_index(shape_, b, h, 0);
    bool finite = true;
    for (int64_t i = first; i < first + count;) {
      const bool seeing = row_sums[i] != 0;
      int64_t end = i + 1;
      while (end < first + count && (row_sums[end] != 0) == seeing) ++end;
      if (seeing) {
        finite &= load_seeing_rows(b, h, i, end - i, to);
      } else {
        std::fill(to.query + i * key_padded_, to.query + end * key_padded_, 0.0f);
        std::fill(to.d_output + i * value_padded_, to.d_output + end * value_padded_, 0.0f);
        std::fill(to.delta + i, to.delta + end, 0.0f);
      }
      i = end;
    }
    pack_row_groups(to.query + first * key_padded_, key_padded_, count, shape_.key_width,
                    to.query_groups + first * shape_.key_width);
    pack_row_groups(to.d_output + first * value_padded_, value_padded_, count, shape_.value_width,
                    to.d_output_groups + first * shape_.value_width);
    return finite;
  }

  bool load_seeing_rows(int64_t b, int64_t h, int64_t first, int64_t count,
                        const QuerySide& to) const {
    float* d_output = to.d_output + first * value_padded_;
    const bool finite = copy_rows(problem_.query.row(b, h, first), problem_.query.row_stride, count,
                                  shape_.key_width, to.query + first * key_padded_, key_padded_) &
                        copy_rows(d_output_.row(b, h, first), d_output_.row_stride, count,
                                  shape_.value_width, d_output, value_padded_);
    const float gate = gate_of(problem_, b, h);
    for (int64_t i = first; i < first + count; ++i)
      to.delta[i] = gate * output_product(problem_, outputs_, d_output_, b, h, i);
    if (problem_.gates) {
      const auto times_gate = [&](FloatVec x)
                                  HWY_ATTR { return hn::Mul(x, hn::Set(FloatTag(), gate)); };
      map_row(count * value_padded_, d_output, times_gate, d_output);
    }
    return finite;
  }

  void key_value_head(int64_t b, int64_t g, int worker) const {
    const int64_t group = shape_.heads / shape_.kv_heads;
    const int64_t live = live_queries(shape_, problem_.mask, b);
    const KeySide keys = load_keys(b, g, worker);
    const QuerySide side = query_side(worker);
    float* d_keys = tile_sums(worker);
    float* d_values = d_keys + kKeyTile * key_padded_;
    for (int64_t h = g * group; h < (g + 1) * group; ++h) {
      for (int64_t first = 0; first < live; first += kBackwardRows) {
        side.finite[first / kBackwardRows] =
            load_rows(b, h, first, std::min(kBackwardRows, live - first), side);
      }
      std::fill(side.d_query, side.d_query + live * key_padded_, 0.0f);
      for (int64_t tile = 0; tile < tiles_; ++tile) {
        if (!touches(keys.needed, tile)) continue;
        std::fill(d_keys, d_keys + kKeyTile * (key_padded_ + value_padded_), 0.0f);
        const int64_t count = std::min(kKeyTile, shape_.keys - tile * kKeyTile);
        fetch_rows(gradients_.key, b, g, tile * kKeyTile, count, shape_.key_width);
        fetch_rows(gradients_.value, b, g, tile * kKeyTile, count, shape_.value_width);
        for (int64_t first = 0; first < live; first += kBackwardRows) {
          tile_block(b, h, tile, first, std::min(kBackwardRows, live - first), keys, side, d_keys,
                     d_values);
        }
        add_tile(gradients_.key, b, g, tile, shape_.key_width, problem_.scale, d_keys, key_padded_);
        add_tile(gradients_.value, b, g, tile, shape_.value_width, 1.0f, d_values, value_padded_);
      }
      for (int64_t i = 0; i < live; ++i) {
        add_row(side.d_query + i * key_padded_, shape_.key_width, problem_.scale,
                gradients_.query.row(b, h, i));
      }
    }
  }

  static void add_row(const float* from, int64_t count, float factor, float* to) {
    const FloatVec factors = hn::Set(FloatTag(), factor);
    const auto add = [&](FloatVec sum, FloatVec x)
                         HWY_ATTR { return hn::Add(sum, hn::Mul(factors, x)); };
    map_row(count, to, add, static_cast<const float*>(to), from);
  }

  void add_tile(const tensor::HeadsView& to, int64_t b, int64_t g, int64_t tile, int64_t width,
                float factor, const float* sums, int64_t stride) const {
    const int64_t count = std::min(kKeyTile, shape_.keys - tile * kKeyTile);
    for (int64_t j = 0; j < count; ++j) {
      add_row(sums + j * stride, width, factor, to.row(b, g, tile * kKeyTile + j));
    }
  }

  // All that a block of rows and a key tile have to do with each other.
  void tile_block(int64_t b, int64_t h, int64_t tile, int64_t first, int64_t rows,
                  const KeySide& keys, const QuerySide& side, float* d_keys,
                  float* d_values) const {
    const SeenKeys seen = seen_keys(shape_, problem_.mask, b, first, rows);
    if (!touches(seen.any, tile)) return;
    if (rows > kEdgeRows && is_edge(seen, tile)) {
      for (int64_t r = 0; r < rows; r += kEdgeRows) {
        tile_block(b, h, tile, first + r, std::min(kEdgeRows, rows - r), keys, side, d_keys,
                   d_values);
      }
      return;
    }
    float* weights = d_values + kKeyTile * value_padded_;
    float* d_scores = weights + kBackwardRows * kKeyTile;
    const ScoreStrip strip =
        score_gradients(b, h, tile, first, rows, seen, keys, side, weights, d_scores);
    if (problem_.softcap > 0) through_cap(strip, d_scores);
    const int64_t begin = strip.begin, cols = strip.end - strip.begin;
    const bool finite = side.finite[first / kBackwardRows];
    // dV_j += sum_i P_ij dO_i and dK_j += sum_i dS_ij Q_i: the strips are read by columns.
    strip_product<TileStart::output, 1>(
        cols, value_padded_,
        {weights + begin, 1, kKeyTile, side.d_output + first * value_padded_, value_padded_, rows,
         d_values + begin * value_padded_, value_padded_, nullptr},
        finite);
    strip_product<TileStart::output, 1>(
        cols, key_padded_,
        {d_scores + begin, 1, kKeyTile, side.query + first * key_padded_, key_padded_, rows,
         d_keys + begin * key_padded_, key_padded_, nullptr},
        finite);
    // dQ_i += sum_j dS_ij K_j, over the keys that exist.
    const int64_t first_key = tile * kKeyTile + begin;
    const int64_t depth = std::min(cols, shape_.keys - first_key);
    strip_product<TileStart::output, kKeyTile>(
        rows, key_padded_,
        {d_scores + begin, kKeyTile, 1, keys.key_rows + first_key * key_padded_, key_padded_, depth,
         side.d_query + first * key_padded_, key_padded_, nullptr},
        keys.finite[tile]);
  }

  // Fills `weights` with f P (g is in dO already) and `d_scores` with dS for one block of rows and
  // one key tile.
  ScoreStrip score_gradients(int64_t b, int64_t h, int64_t tile, int64_t first, int64_t rows,
                             const SeenKeys& seen, const KeySide& keys, const QuerySide& side,
                             float* weights, float* d_scores) const {
    ScoreStrip strip{.b = b,
                     .h = h,
                     .first_row = first,
                     .rows = rows,
                     .query = side.query_groups + first * shape_.key_width,
                     .keys = keys.keys + tile * kKeyTile * shape_.key_width,
                     .scores = weights};
    set_columns(strip, tile, seen);
    score_strip(problem_, strip, ScoreStage::masked);
    const float* values = keys.values + tile * kKeyTile * shape_.value_width;
    panel_product(side.d_output_groups + first * shape_.value_width, rows, values,
                  shape_.value_width, strip.begin, strip.end, d_scores);
    for (int64_t r = 0; r < rows; ++r) {
      row_gradient(problem_, outputs_, strip.row(r), side.delta[first + r], weights + r * kKeyTile,
                   d_scores + r * kKeyTile);
    }
    return strip;
  }

  // From the capped score back to the scaled one: dS *= 1 - tanh^2. The capped score is computed
  // again, before bias and masks.
  void through_cap(ScoreStrip strip, float* d_scores) const {
    strip.scores = d_scores + kBackwardRows * kKeyTile;
    score_strip(problem_, strip, ScoreStage::capped);
    for (int64_t r = 0; r < strip.rows; ++r) {
      for (int64_t c = r * kKeyTile + strip.begin; c < r * kKeyTile + strip.end; ++c) {
        const float tanh = strip.scores[c] / problem_.softcap;
        if (d_scores[c] != 0.0f) d_scores[c] *= 1.0f - tanh * tanh;
      }
    }
  }

  // Tasks are cut so that no two write the same number.
  void bias_gradient() const;
  void bias_rows(int64_t b, int64_t h, int64_t first, int64_t rows, const KeySide& keys,
                 int worker) const;
  void bias_blocks(int64_t b, int64_t h, int64_t first, int64_t last, int worker) const;

  const Execution& execution_;
  const AttentionProblem& problem_;
  const AttentionOutputs& outputs_;
  tensor::ConstHeadsView d_output_;
  const AttentionGradients& gradients_;
  const AttentionShape& shape_;
  int64_t tiles_ = 0, blocks_ = 0, group_rows_ = 0, key_padded_ = 0, value_padded_ = 0;
  int64_t keys_size_ = 0, side_size_ = 0, worker_size_ = 0;
  tensor::Block scratch_, finite_;
};

void Backward::bias_rows(int64_t b, int64_t h, int64_t first, int64_t rows, const KeySide& keys,
                         int worker) const {
  const QuerySide side = query_side(worker);
  rows = std::min(rows, live_queries(shape_, problem_.mask, b) - first);
  if (rows <= 0) return;
  load_rows(b, h, first, rows, side);
  float* weights = strips(worker);
  float* d_scores = weights + kBackwardRows * kKeyTile;
  const SeenKeys seen = seen_keys(shape_, problem_.mask, b, first, rows);
  for (int64_t tile = seen.any.first / kKeyTile; tile * kKeyTile < seen.any.last; ++tile) {
    const ScoreStrip strip =
        score_gradients(b, h, tile, first, rows, seen, keys, side, weights, d_scores);
    for (int64_t r = 0; r < rows; ++r)
      add_bias_gradient(shape_, strip.row(r), d_scores + r * kKeyTile, gradients_.bias);
  }
}

void Backward::bias_blocks(int64_t b, int64_t h, int64_t first, int64_t last, int worker) const {
  const KeySide keys = load_keys(b, h / (shape_.heads / shape_.kv_heads), worker);
  for (int64_t block = first; block < last; ++block)
    bias_rows(b, h, block * kBackwardRows, kBackwardRows, keys, worker);
}

void Backward::bias_gradient() const {
  const auto& strides = gradients_.bias.strides;
  const int64_t batches = strides[0] ? shape_.batch : 1;
  const int64_t heads = strides[1] ? shape_.heads : 1;
  const int64_t blocks = strides[2] ? blocks_ : 1;
  execution_.threads.parallel_for(batches * heads * blocks, [&](int64_t index, int worker) {
    const int64_t first_b = index / (heads * blocks), first_h = index / blocks % heads,
                  first_block = index % blocks;
    for (int64_t b = first_b; b < (strides[0] ? first_b + 1 : shape_.batch); ++b) {
      for (int64_t h = first_h; h < (strides[1] ? first_h + 1 : shape_.heads); ++h) {
        bias_blocks(b, h, first_block, strides[2] ? first_block + 1 : blocks_, worker);
      }
    }
  });
}

void run_backward(const Execution& execution, const AttentionProblem& problem,
                  const AttentionOutputs& outputs, tensor::ConstHeadsView d_output,
                  const AttentionGradients& gradients) {
  Backward(execution, problem, outputs, d_output, gradients).run();
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

HWY_EXPORT(run_backward);

void attention_backward(const Execution& execution, const AttentionProblem& problem,
                        const AttentionOutputs& outputs, tensor::ConstHeadsView d_output,
                        const AttentionGradients& gradients) {
  HWY_DYNAMIC_DISPATCH(run_backward)(execution, problem, outputs, d_output, gradients);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
