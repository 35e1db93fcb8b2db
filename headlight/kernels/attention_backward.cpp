// Attention backward: scores are computed again, nothing of size (queries x keys) is kept. A task
// takes one key/value head through its query heads and key tiles; for each tile the query rows pass
// in blocks. With P the weights, f the dropout factors, g the gate:
//   dV = (g f P)^T dO,  dP = g f (dO V^T),  dS = P (dP - D) with D_i = g dO_i . O_i,
//   dQ = scale dS K,  dK = scale dS^T Q,  dbias = dS.
// The gradient of a position bias at distance r is the sum of dS_ij over j - i = r; its
// coefficients' gradients follow from that, head by head.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/attention_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/attention.h"
#include "headlight/kernels/attention_rows.h"
#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/simd/attention_backward-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

// Fewer rows than a block's fit the edge of what is seen more closely.
constexpr int64_t kEdgeRows = 24;
static_assert(kEdgeRows % kTileRows == 0, "rows are grouped for the products");

// Sums of the keys of one tile, each a row of `width` numbers, `stride` apart, to be multiplied by
// `factor`.
struct TileSums {
  const float* rows;
  int64_t stride, width;
  float factor;
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
        shape_(problem.shape),
        scores_(problem, outputs, d_output),
        sizes_(scores_.sizes()),
        memory_(execution, problem) {
    if (!gradients.position_bias) return;
    position_sums_ = execution.arena.allocate(
        sizeof(double) *
        static_cast<size_t>(shape_.batch * shape_.heads * scores_.positions().per_head()));
  }

  void run() const {
    if (gradients_.query.data || gradients_.position_bias) {
      execution_.threads.parallel_for(shape_.batch * shape_.kv_heads, [&](int64_t index,
                                                                          int worker) {
        key_value_head(index / shape_.kv_heads, index % shape_.kv_heads, memory_.of_worker(worker));
      });
    }
    if (gradients_.position_bias) add_position_sums();
    if (gradients_.bias) bias_gradient();
    if (gradients_.gates)
      gate_gradient(execution_, problem_, outputs_, d_output_, gradients_.gates);
  }

 private:
  void key_value_head(int64_t b, int64_t g, const BackwardScratch& scratch) const {
    const KeyInterval needed = scores_.load_keys(b, g, scratch);
    for (int64_t h = shape_.first_reader(g); h < shape_.first_reader(g + 1); ++h)
      query_head(b, h, needed, scratch);
  }

  // One query head against the keys its rows may see.
  void query_head(int64_t b, int64_t h, KeyInterval needed, const BackwardScratch& scratch) const {
    const RowBlock rows{b, h, 0, live_queries(shape_, problem_.mask, b)};
    for_blocks(rows, [&](const RowBlock& block) {
      scratch.finite_blocks[block.first / kBackwardRows] = scores_.load_rows(block, scratch);
    });
    scores_.load_positions(b, h, scratch);
    std::fill(scratch.d_query, scratch.d_query + rows.count * sizes_.key_padded, 0.0f);
    std::fill(scratch.d_position_biases, scratch.d_position_biases + sizes_.positions, 0.0f);
    for (int64_t tile = 0; tile < sizes_.tiles; ++tile) {
      if (ScoreGradients::touches(needed, tile)) key_tile(rows, tile, scratch);
    }
    if (gradients_.position_bias) sum_positions(b, h, scratch);
    if (!gradients_.query.data) return;
    for (int64_t i = 0; i < rows.count; ++i) {
      add_row(scratch.d_query + i * sizes_.key_padded, shape_.key_width, problem_.scale,
              gradients_.query.row(b, h, i));
    }
  }

  template <class F>
  static void for_blocks(const RowBlock& rows, const F& f) {
    for (int64_t first = 0; first < rows.count; first += kBackwardRows)
      f(RowBlock{rows.b, rows.h, first, std::min(kBackwardRows, rows.count - first)});
  }

  // One key tile with all rows of a head, block by block.
  void key_tile(const RowBlock& rows, int64_t tile, const BackwardScratch& scratch) const {
    const auto each_block = [&](const RowBlock& block) { tile_block(block, tile, scratch); };
    if (!gradients_.query.data) return for_blocks(rows, each_block);
    const int64_t g = shape_.kv_head(rows.h);
    const int64_t first = tile * kKeyTile, count = std::min(kKeyTile, shape_.keys - first);
    std::fill(scratch.d_keys, scratch.d_keys + kKeyTile * sizes_.key_padded, 0.0f);
    std::fill(scratch.d_values, scratch.d_values + kKeyTile * sizes_.value_padded, 0.0f);
    fetch_rows(gradients_.key, rows.b, g, first, count, shape_.key_width);
    fetch_rows(gradients_.value, rows.b, g, first, count, shape_.value_width);
    for_blocks(rows, each_block);
    add_tile({scratch.d_keys, sizes_.key_padded, shape_.key_width, problem_.scale},
             gradients_.key.row(rows.b, g, first), gradients_.key.row_stride, count);
    add_tile({scratch.d_values, sizes_.value_padded, shape_.value_width, 1.0f},
             gradients_.value.row(rows.b, g, first), gradients_.value.row_stride, count);
  }

  static void add_row(const float* from, int64_t count, float factor, float* to) {
    const FloatVec factors = hn::Set(FloatTag(), factor);
    const auto add = [&](FloatVec sum, FloatVec x)
                         HWY_ATTR { return hn::Add(sum, hn::Mul(factors, x)); };
    map_row(count, to, add, static_cast<const float*>(to), from);
  }

  static void add_tile(const TileSums& sums, float* to, int64_t to_stride, int64_t count) {
    for (int64_t j = 0; j < count; ++j)
      add_row(sums.rows + j * sums.stride, sums.width, sums.factor, to + j * to_stride);
  }

  // Whether rows see different keys of a tile.
  static bool is_edge(const SeenKeys& seen, int64_t tile) {
    const int64_t first = tile * kKeyTile, last = first + kKeyTile;
    return std::max(seen.any.first, first) < std::min(seen.all.first, last) ||
           std::min(seen.any.last, last) > std::max(seen.all.last, first);
  }

  // All that a block of rows and a key tile have to do with each other.
  void tile_block(const RowBlock& rows, int64_t tile, const BackwardScratch& scratch) const {
    const SeenKeys seen = seen_keys(shape_, problem_.mask, rows.b, rows.first, rows.count);
    if (!ScoreGradients::touches(seen.any, tile)) return;
    if (rows.count > kEdgeRows && is_edge(seen, tile)) {
      for (int64_t r = 0; r < rows.count; r += kEdgeRows) {
        tile_block({rows.b, rows.h, rows.first + r, std::min(kEdgeRows, rows.count - r)}, tile,
                   scratch);
      }
      return;
    }
    const ScoreStrip strip = scores_.strip_of(rows, tile, seen, scratch);
    if (gradients_.position_bias) add_position_gradients(strip, scratch);
    if (!gradients_.query.data) return;
    if (problem_.softcap > 0) scores_.through_cap(strip, scratch);
    add_products(strip, scratch);
  }

  // dV_j += sum_i P_ij dO_i and dK_j += sum_i dS_ij Q_i: the strips are read by columns. Then
  // dQ_i += sum_j dS_ij K_j, over the keys that exist.
  void add_products(const ScoreStrip& strip, const BackwardScratch& scratch) const {
    const int64_t key_padded = sizes_.key_padded, value_padded = sizes_.value_padded;
    const int64_t first = strip.first_row, rows = strip.rows;
    const int64_t begin = strip.begin, cols = strip.end - strip.begin;
    const bool finite = scratch.finite_blocks[first / kBackwardRows];
    strip_product<TileStart::output, 1>(
        cols, value_padded,
        {scratch.weights + begin, 1, kKeyTile, scratch.d_output + first * value_padded,
         value_padded, rows, scratch.d_values + begin * value_padded, value_padded, nullptr},
        finite);
    strip_product<TileStart::output, 1>(
        cols, key_padded,
        {scratch.d_scores + begin, 1, kKeyTile, scratch.query + first * key_padded, key_padded,
         rows, scratch.d_keys + begin * key_padded, key_padded, nullptr},
        finite);
    const int64_t first_key = strip.first_key + begin;
    const int64_t depth = std::min(cols, shape_.keys - first_key);
    strip_product<TileStart::output, kKeyTile>(
        rows, key_padded,
        {scratch.d_scores + begin, kKeyTile, 1, scratch.key_rows + first_key * key_padded,
         key_padded, depth, scratch.d_query + first * key_padded, key_padded, nullptr},
        scratch.finite_tiles[strip.first_key / kKeyTile]);
  }

  // Each row's dS to the biases it read; where nothing is seen, dS is 0.
  void add_position_gradients(const ScoreStrip& strip, const BackwardScratch& scratch) const {
    const FloatTag d;
    const int64_t first = scores_.position_biases(scratch).index(strip.first_row, strip.first_key);
    for (int64_t r = 0; r < strip.rows; ++r) {
      const float* d_row = scratch.d_scores + r * kKeyTile;
      float* sums = scratch.d_position_biases + first - r;
      for (int64_t c = strip.begin; c < strip.end; c += kLanes)
        hn::StoreU(hn::Add(hn::LoadU(d, sums + c), hn::LoadU(d, d_row + c)), d, sums + c);
    }
  }

  double* position_sums(int64_t b, int64_t h) const {
    return reinterpret_cast<double*>(position_sums_.get()) +
           (b * shape_.heads + h) * scores_.positions().per_head();
  }

  void sum_positions(int64_t b, int64_t h, const BackwardScratch& scratch) const {
    scores_.positions().sum_gradients(b, {scratch.d_position_biases, shape_.queries - 1, 0},
                                      sizes_.positions, position_sums(b, h));
  }

  // A head's sums of all sequences, in their order.
  void add_position_sums() const {
    for (int64_t h = 0; h < shape_.heads; ++h) {
      for (int64_t k = 0; k < scores_.positions().per_head(); ++k) {
        double sum = 0;
        for (int64_t b = 0; b < shape_.batch; ++b) sum += position_sums(b, h)[k];
        gradients_.position_bias[k * shape_.heads + h] += static_cast<float>(sum);
      }
    }
  }

  // Tasks are cut so that no two write the same number.
  void bias_gradient() const {
    const auto& strides = gradients_.bias.strides;
    const int64_t batches = strides[0] ? shape_.batch : 1;
    const int64_t heads = strides[1] ? shape_.heads : 1;
    const int64_t blocks = strides[2] ? sizes_.blocks : 1;
    execution_.threads.parallel_for(batches * heads * blocks, [&](int64_t index, int worker) {
      const BackwardScratch scratch = memory_.of_worker(worker);
      const int64_t first_b = index / (heads * blocks), first_h = index / blocks % heads;
      const int64_t first_row = index % blocks * kBackwardRows;
      const int64_t rows = strides[2] ? kBackwardRows : shape_.queries;
      for (int64_t b = first_b; b < (strides[0] ? first_b + 1 : shape_.batch); ++b) {
        for (int64_t h = first_h; h < (strides[1] ? first_h + 1 : shape_.heads); ++h)
          bias_rows({b, h, first_row, rows}, scratch);
      }
    });
  }

  // The part that some rows of a head have in the gradient of the bias.
  void bias_rows(const RowBlock& rows, const BackwardScratch& scratch) const {
    scores_.load_keys(rows.b, shape_.kv_head(rows.h), scratch);
    scores_.load_positions(rows.b, rows.h, scratch);
    const int64_t live = live_queries(shape_, problem_.mask, rows.b);
    const int64_t end = std::min(live, rows.first + rows.count);
    for (int64_t first = rows.first; first < end; first += kBackwardRows) {
      const RowBlock block{rows.b, rows.h, first, std::min(kBackwardRows, end - first)};
      scores_.load_rows(block, scratch);
      const SeenKeys seen = seen_keys(shape_, problem_.mask, block.b, block.first, block.count);
      for (int64_t tile = seen.any.first / kKeyTile; tile * kKeyTile < seen.any.last; ++tile) {
        const ScoreStrip strip = scores_.strip_of(block, tile, seen, scratch);
        for (int64_t r = 0; r < strip.rows; ++r) {
          add_bias_gradient(shape_, strip.row(r), scratch.d_scores + r * kKeyTile, gradients_.bias);
        }
      }
    }
  }

  const Execution& execution_;
  const AttentionProblem& problem_;
  const AttentionOutputs& outputs_;
  tensor::ConstHeadsView d_output_;
  const AttentionGradients& gradients_;
  const AttentionShape& shape_;
  const ScoreGradients scores_;
  const BackwardSizes& sizes_;
  const BackwardMemory memory_;
  tensor::Block position_sums_;  // doubles, of each sequence and head
};

void run_backward(const Execution& execution, const AttentionProblem& problem,
                  const AttentionOutputs& outputs, tensor::ConstHeadsView d_output,
                  const AttentionGradients& gradients) {
  Backward(execution, problem, outputs, d_output, gradients).run();
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

HEADLIGHT_EXPORT(run_backward);

void attention_backward(const Execution& execution, const AttentionProblem& problem,
                        const AttentionOutputs& outputs, tensor::ConstHeadsView d_output,
                        const AttentionGradients& gradients) {
  HEADLIGHT_DISPATCH(run_backward)(execution, problem, outputs, d_output, gradients);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
