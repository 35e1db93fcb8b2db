// Additive attention backward: scores are computed again, nothing of size (queries x keys) is kept.
// A task takes a sequence through its key tiles; for each tile the query rows pass in blocks. With
// P the weights, f the dropout factors, g the gate, O the output before it:
//   dV = (g f P)^T dO,  dP = g f (dO V^T),  dS = P (dP - g dO . O),
// and dS goes on to queries, keys and score weights as additive_row_gradients has it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/additive_attention_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <utility>

#include "headlight/kernels/additive_attention.h"
#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/additive-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

constexpr int64_t kAdditiveBackwardRows = 32;

// A worker's memory. Rows are padded to whole vectors; rows that see nothing are zero.
struct AdditiveRoom {
  float* query;          // (T x key_padded)
  float* d_query;        // (T x key_padded)
  float* d_output;       // (T x value_padded), times the gate
  float* delta;          // (T,): g dO . O
  float* keys;           // (kKeyTile x key_padded), the tile's rows
  float* d_keys;         // (kKeyTile x key_padded)
  float* d_values;       // (kKeyTile x value_padded)
  float* packed_keys;    // (key_width x kKeyTile)
  float* packed_values;  // (value_width x kKeyTile)
  float* weights;        // (kAdditiveBackwardRows x kKeyTile)
  float* d_scores;       // (kAdditiveBackwardRows x kKeyTile)
};

class AdditiveBackward {
 public:
  AdditiveBackward(const AttentionProblem& problem, const float* score_weights,
                   const AttentionOutputs& outputs, tensor::ConstHeadsView d_output,
                   const AttentionGradients& gradients)
      : problem_(problem),
        score_weights_(score_weights),
        outputs_(outputs),
        d_output_(d_output),
        gradients_(gradients),
        shape_(problem.shape),
        key_padded_(round_up(shape_.key_width, kLanes)),
        value_padded_(round_up(shape_.value_width, kLanes)) {}

  // The gradients of score weights and gates are summed up per sequence and then in their order. A
  // bias that sequences share is summed up by one task.
  void run(const Execution& execution, float* d_score_weights) {
    const Scratch padded(execution, key_padded_);
    std::copy(score_weights_, score_weights_ + shape_.key_width, padded.data);
    std::fill(padded.data + shape_.key_width, padded.data + key_padded_, 0.0f);
    padded_weights_ = padded.data;
    const int64_t sums_size = key_padded_ + 1;
    const Scratch sums(execution, shape_.batch * sums_size);
    std::fill(sums.data, sums.data + shape_.batch * sums_size, 0.0f);
    const int64_t size = room_size();
    const Scratch scratch(execution, size * execution.threads.size());
    const bool shared_bias = gradients_.bias && gradients_.bias.strides[0] == 0;
    const int64_t sequences = shared_bias ? shape_.batch : 1;  // of a task
    const int64_t tasks = shared_bias ? std::min<int64_t>(1, shape_.batch) : shape_.batch;
    execution.threads.parallel_for(tasks, [&](int64_t task, int worker) {
      const AdditiveRoom room = divide(scratch.data + worker * size);
      for (int64_t b = task * sequences; b < (task + 1) * sequences; ++b) {
        float* d_weights = sums.data + b * sums_size;
        sequence(b, room, d_weights, d_weights[key_padded_]);
      }
    });
    for (int64_t b = 0; b < shape_.batch; ++b) {
      const float* sum = sums.data + b * sums_size;
      if (d_score_weights) add_row(sum, shape_.key_width, d_score_weights);
      if (gradients_.gates) gradients_.gates[b * problem_.gate_batch_stride] += sum[key_padded_];
    }
  }

 private:
  int64_t room_size() const {
    const int64_t queries = shape_.queries * (2 * key_padded_ + value_padded_ + 1);
    const int64_t tile = 2 * key_padded_ + value_padded_ + shape_.key_width + shape_.value_width;
    return queries + kKeyTile * (tile + 2 * kAdditiveBackwardRows);
  }

  AdditiveRoom divide(float* memory) const {
    AdditiveRoom room;
    const auto take = [&memory](int64_t count) { return std::exchange(memory, memory + count); };
    room.query = take(shape_.queries * key_padded_);
    room.d_query = take(shape_.queries * key_padded_);
    room.d_output = take(shape_.queries * value_padded_);
    room.delta = take(shape_.queries);
    room.keys = take(kKeyTile * key_padded_);
    room.d_keys = take(kKeyTile * key_padded_);
    room.d_values = take(kKeyTile * value_padded_);
    room.packed_keys = take(kKeyTile * shape_.key_width);
    room.packed_values = take(kKeyTile * shape_.value_width);
    room.weights = take(kKeyTile * kAdditiveBackwardRows);
    room.d_scores = take(kKeyTile * kAdditiveBackwardRows);
    return room;
  }

  static void add_row(const float* from, int64_t count, float* to) {
    for (int64_t c = 0; c < count; ++c) to[c] += from[c];
  }

  void sequence(int64_t b, const AdditiveRoom& room, float* d_weights, float& d_gate) const {
    const int64_t live = live_queries(shape_, problem_.mask, b);
    const KeyInterval keys = visible_keys(shape_, problem_.mask, b, 0, live);
    const bool finite = load_rows(b, live, room, d_gate);
    std::fill(room.d_query, room.d_query + live * key_padded_, 0.0f);
    for (int64_t tile = keys.first / kKeyTile; tile * kKeyTile < keys.last; ++tile) {
      load_tile(b, tile, room);
      for (int64_t first = 0; first < live; first += kAdditiveBackwardRows) {
        const int64_t rows = std::min(kAdditiveBackwardRows, live - first);
        tile_block(b, tile, first, rows, finite, room, d_weights);
      }
      if (gradients_.key.data) add_tile(gradients_.key, b, tile, room.d_keys, key_padded_);
      if (gradients_.value.data) add_tile(gradients_.value, b, tile, room.d_values, value_padded_);
    }
    if (!gradients_.query.data) return;
    for (int64_t i = 0; i < live; ++i) {
      add_row(room.d_query + i * key_padded_, shape_.key_width, gradients_.query.row(b, 0, i));
    }
  }

  // Copies the rows of a sequence. A row that sees nothing has no part in any gradient, whatever it
  // holds. Returns whether all that was copied of dO is finite.
  bool load_rows(int64_t b, int64_t live, const AdditiveRoom& room, float& d_gate) const {
    const float gate = problem_.gates ? problem_.gates[b * problem_.gate_batch_stride] : 1.0f;
    const tensor::HeadsView& output = outputs_.ungated.data ? outputs_.ungated : outputs_.output;
    bool finite = true;
    for (int64_t i = 0; i < live; ++i) {
      float* query = room.query + i * key_padded_;
      float* d_output = room.d_output + i * value_padded_;
      room.delta[i] = 0;
      if (outputs_.row_sum[b * shape_.queries + i] == 0) {
        std::fill(query, query + key_padded_, 0.0f);
        std::fill(d_output, d_output + value_padded_, 0.0f);
        continue;
      }
      copy_rows(problem_.query.row(b, 0, i), 0, 1, shape_.key_width, query, key_padded_);
      finite &=
          copy_rows(d_output_.row(b, 0, i), 0, 1, shape_.value_width, d_output, value_padded_);
      const float* row = output.row(b, 0, i);
      for (int64_t e = 0; e < shape_.value_width; ++e) {
        room.delta[i] += d_output[e] * row[e];
        d_output[e] *= gate;
      }
      d_gate += room.delta[i];
      room.delta[i] *= gate;
    }
    return finite;
  }

  void load_tile(int64_t b, int64_t tile, const AdditiveRoom& room) const {
    const int64_t first = tile * kKeyTile;
    const tensor::ConstHeadsView& key = problem_.key;
    transpose_tile(key, b, shape_.keys, shape_.key_width, tile, room.packed_keys);
    transpose_tile(problem_.value, b, shape_.keys, shape_.value_width, tile, room.packed_values);
    copy_rows(key.row(b, 0, first), key.row_stride, std::min(kKeyTile, shape_.keys - first),
              shape_.key_width, room.keys, key_padded_);
    std::fill(room.d_keys, room.d_keys + kKeyTile * key_padded_, 0.0f);
    std::fill(room.d_values, room.d_values + kKeyTile * value_padded_, 0.0f);
  }

  void add_tile(const tensor::HeadsView& to, int64_t b, int64_t tile, const float* sums,
                int64_t stride) const {
    const int64_t width = &to == &gradients_.key ? shape_.key_width : shape_.value_width;
    const int64_t count = std::min(kKeyTile, shape_.keys - tile * kKeyTile);
    for (int64_t j = 0; j < count; ++j) {
      add_row(sums + j * stride, width, to.row(b, 0, tile * kKeyTile + j));
    }
  }

  // All that a block of rows and a key tile have to do with each other.
  void tile_block(int64_t b, int64_t tile, int64_t first, int64_t rows, bool finite,
                  const AdditiveRoom& room, float* d_weights) const {
    const KeyInterval keys = visible_keys(shape_, problem_.mask, b, first, rows);
    if (keys.last <= tile * kKeyTile || keys.first >= (tile + 1) * kKeyTile) return;
    ScoreStrip strip{b,           0,
                     first,       rows,
                     0,           0,
                     0,           room.query + first * key_padded_,
                     key_padded_, room.packed_keys,
                     room.weights};
    set_columns(strip, tile, keys);
    score_gradients(strip, room);
    const int64_t begin = strip.begin, cols = strip.end - strip.begin;
    const float* d_output = room.d_output + first * value_padded_;
    strip_product<TileStart::output>(
        cols, value_padded_,
        {room.weights + begin, 1, kKeyTile, d_output, value_padded_, rows,
         room.d_values + begin * value_padded_, value_padded_, nullptr},
        finite);
    const AdditiveGradients tile_gradients{padded_weights_, d_weights, key_padded_, room.keys,
                                           room.d_keys};
    for (int64_t r = 0; r < rows; ++r) {
      additive_row_gradients(tile_gradients, strip.query + r * key_padded_,
                             room.d_scores + r * kKeyTile, begin, strip.end,
                             room.d_query + (first + r) * key_padded_);
      if (gradients_.bias) add_bias_row(strip, r, room.d_scores + r * kKeyTile);
    }
  }

  // Fills room.weights with f P (g is in dO already) and room.d_scores with dS.
  void score_gradients(const ScoreStrip& strip, const AdditiveRoom& room) const {
    additive_strip(problem_, score_weights_, strip, true);
    strip_product<TileStart::zero>(
        strip.rows, strip.end - strip.begin,
        {room.d_output + strip.first_row * value_padded_, value_padded_, 1,
         room.packed_values + strip.begin, kKeyTile, shape_.value_width,
         room.d_scores + strip.begin, kKeyTile, nullptr});
    for (int64_t r = 0; r < strip.rows; ++r) {
      row_gradients(strip, r, room.delta[strip.first_row + r], room.d_scores + r * kKeyTile);
    }
  }

  // One row: masked scores become weights, dO V^T becomes dS.
  void row_gradients(const ScoreStrip& strip, int64_t r, float delta, float* d_row) const {
    const FloatTag d;
    float* row = strip.scores + r * kKeyTile;
    const int64_t index = strip.b * shape_.queries + strip.first_row + r;
    const float sum = outputs_.row_sum[index];
    const FloatVec inverse = hn::Set(d, sum == 0 ? 0.0f : 1.0f / sum);
    exponentiate(row, strip.begin, strip.end, shift_of(outputs_.row_max[index]));
    float drops[kKeyTile];
    const bool dropout = problem_.dropout.probability > 0;
    if (dropout) weight_drops(problem_, strip, r, drops);
    for (int64_t c = strip.begin; c < strip.end; c += kLanes) {
      const FloatVec weight = hn::Mul(hn::LoadU(d, row + c), inverse);
      const FloatVec drop = dropout ? hn::LoadU(d, drops + c - strip.begin) : hn::Set(d, 1.0f);
      const FloatVec d_weight = hn::Mul(hn::LoadU(d, d_row + c), drop);
      const FloatVec d_score = hn::Mul(weight, hn::Sub(d_weight, hn::Set(d, delta)));
      // What is hidden stays out, even where dO V^T is not a number.
      hn::StoreU(hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(d)), d_score), d, d_row + c);
      hn::StoreU(hn::Mul(weight, drop), d, row + c);
    }
  }

  void add_bias_row(const ScoreStrip& strip, int64_t r, const float* d_row) const {
    const int64_t end = std::min(strip.end, shape_.keys - strip.first_key);
    for (int64_t c = strip.begin; c < end; ++c) {
      gradients_.bias.at(strip.b, 0, strip.first_row + r, strip.first_key + c) += d_row[c];
    }
  }

  const AttentionProblem& problem_;
  const float* score_weights_;
  const AttentionOutputs& outputs_;
  tensor::ConstHeadsView d_output_;
  const AttentionGradients& gradients_;
  const AttentionShape& shape_;
  int64_t key_padded_, value_padded_;
  const float* padded_weights_ = nullptr;
};

void run_additive_backward(const Execution& execution, const AttentionProblem& problem,
                           const float* score_weights, const AttentionOutputs& outputs,
                           tensor::ConstHeadsView d_output, const AttentionGradients& gradients,
                           float* d_score_weights) {
  AdditiveBackward(problem, score_weights, outputs, d_output, gradients)
      .run(execution, d_score_weights);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HWY_EXPORT(run_additive_backward);
}

void additive_attention_backward(const Execution& execution, const AttentionProblem& problem,
                                 const float* score_weights, const AttentionOutputs& outputs,
                                 tensor::ConstHeadsView d_output,
                                 const AttentionGradients& gradients, float* d_score_weights) {
  HWY_DYNAMIC_DISPATCH(run_additive_backward)
  (execution, problem, score_weights, outputs, d_output, gradients, d_score_weights);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
