// Additive attention forward, tiled with an online softmax, and a look inside. A task takes a block
// of query rows through the key tiles it can see; the tanh of every (row, key, column) is nearly
// all of the work, so each task rearranges the tiles it needs for itself.
#include "headlight/kernels/additive_attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/additive_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/additive-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

constexpr int64_t kAdditiveRows = 32;

class AdditiveForward {
 public:
  AdditiveForward(const AttentionProblem& problem, const float* score_weights,
                  const AttentionOutputs& outputs)
      : problem_(problem),
        score_weights_(score_weights),
        outputs_(outputs),
        shape_(problem.shape),
        value_padded_(round_up(shape_.value_width, kLanes)) {}

  void run(const Execution& execution) const {
    const int64_t blocks = round_up(shape_.queries, kAdditiveRows) / kAdditiveRows;
    const int64_t room = kKeyTile * (shape_.key_width + value_padded_ + kAdditiveRows) +
                         kAdditiveRows * value_padded_;
    const Scratch scratch(execution, room * execution.threads.size());
    execution.threads.parallel_for(shape_.batch * blocks, [&](int64_t index, int worker) {
      attend_block(index / blocks, index % blocks * kAdditiveRows, scratch.data + worker * room);
    });
  }

 private:
  void attend_block(int64_t b, int64_t first, float* room) const {
    const int64_t end = std::min(shape_.queries, first + kAdditiveRows);
    const int64_t live = std::clamp(live_queries(shape_, problem_.mask, b), first, end);
    const KeyInterval keys = visible_keys(shape_, problem_.mask, b, first, live - first);
    float* scores = room;
    float* sums = scores + kAdditiveRows * kKeyTile;
    float* values = sums + kAdditiveRows * value_padded_;
    float* key_room = values + kKeyTile * value_padded_;
    RowState states[kAdditiveRows];
    std::fill(sums, sums + kAdditiveRows * value_padded_, 0.0f);
    for (int64_t tile = keys.first / kKeyTile; tile * kKeyTile < keys.last; ++tile) {
      transpose_tile(problem_.key, b, shape_.keys, shape_.key_width, tile, key_room);
      ScoreStrip strip{b,
                       0,
                       first,
                       live - first,
                       0,
                       0,
                       0,
                       problem_.query.row(b, 0, first),
                       problem_.query.row_stride,
                       key_room,
                       scores};
      set_columns(strip, tile, keys);
      attend_tile(strip, values, states, sums);
    }
    for (int64_t i = first; i < end; ++i) {
      finish_row(b, i, states[i - first], sums + (i - first) * value_padded_);
    }
  }

  // One step of the online softmax: sums = factors * sums + weights * values.
  void attend_tile(const ScoreStrip& strip, float* values, RowState* states, float* sums) const {
    float factors[kAdditiveRows];
    additive_strip(problem_, score_weights_, strip, true);
    for (int64_t r = 0; r < strip.rows; ++r) {
      float* row = strip.scores + r * kKeyTile;
      factors[r] = softmax_step(row, strip.begin, strip.end, states[r]);
      if (problem_.dropout.probability > 0) drop(strip, r, row);
    }
    const int64_t count = std::min(kKeyTile, shape_.keys - strip.first_key);
    const bool finite =
        copy_rows(problem_.value.row(strip.b, 0, strip.first_key), problem_.value.row_stride, count,
                  shape_.value_width, values, value_padded_);
    strip_product<TileStart::scaled_output>(
        strip.rows, value_padded_,
        {strip.scores + strip.begin, kKeyTile, 1, values + strip.begin * value_padded_,
         value_padded_, std::min(strip.end, count) - strip.begin, sums, value_padded_, factors},
        finite);
  }

  void drop(const ScoreStrip& strip, int64_t r, float* row) const {
    const FloatTag d;
    float drops[kKeyTile];
    weight_drops(problem_, strip, r, drops);
    for (int64_t c = strip.begin; c < strip.end; c += kLanes) {
      const FloatVec factor = hn::LoadU(d, drops + c - strip.begin);
      hn::StoreU(hn::Mul(hn::LoadU(d, row + c), factor), d, row + c);
    }
  }

  void finish_row(int64_t b, int64_t i, const RowState& state, const float* sums) const {
    if (outputs_.row_max) outputs_.row_max[b * shape_.queries + i] = state.max;
    if (outputs_.row_sum) outputs_.row_sum[b * shape_.queries + i] = state.sum;
    const float inverse = state.sum == 0 ? 0.0f : 1.0f / state.sum;
    float* output = outputs_.output.row(b, 0, i);
    for (int64_t e = 0; e < shape_.value_width; ++e) output[e] = sums[e] * inverse;
    if (outputs_.ungated.data) {
      std::copy(output, output + shape_.value_width, outputs_.ungated.row(b, 0, i));
    }
    if (problem_.gates == nullptr) return;
    const float gate = problem_.gates[b * problem_.gate_batch_stride];
    for (int64_t e = 0; e < shape_.value_width; ++e) output[e] *= gate;
  }

  const AttentionProblem& problem_;
  const float* score_weights_;
  const AttentionOutputs& outputs_;
  const AttentionShape& shape_;
  int64_t value_padded_;
};

void run_additive_forward(const Execution& execution, const AttentionProblem& problem,
                          const float* score_weights, const AttentionOutputs& outputs) {
  AdditiveForward(problem, score_weights, outputs).run(execution);
}

// One key tile of the rows asked for, in strips, written to `out`.
struct AdditiveLook {
  const AttentionProblem& problem;
  const float* score_weights;
  const ScoreRequest& request;
  const float* row_max;
  const float* row_sum;
  float* out;
  int64_t out_stride;

  void look_at_tile(int64_t tile, float* room) const {
    float* keys = room + kAdditiveRows * kKeyTile;
    transpose_tile(problem.key, request.batch, problem.shape.keys, problem.shape.key_width, tile,
                   keys);
    for (int64_t row = 0; row < request.row_count; row += kAdditiveRows) {
      const int64_t first = request.first_row + row;
      ScoreStrip strip{request.batch,
                       0,
                       first,
                       std::min(kAdditiveRows, request.row_count - row),
                       0,
                       0,
                       0,
                       problem.query.row(request.batch, 0, first),
                       problem.query.row_stride,
                       keys,
                       room};
      set_columns(strip, tile, {0, problem.shape.keys});
      additive_strip(problem, score_weights, strip, request.stage >= ScoreStage::masked);
      for (int64_t r = 0; r < strip.rows; ++r) write_row(strip, r, row + r);
    }
  }

  void write_row(const ScoreStrip& strip, int64_t r, int64_t row) const {
    const int64_t count = std::min(kKeyTile, problem.shape.keys - strip.first_key);
    const float* scores = strip.scores + r * kKeyTile;
    if (request.stage == ScoreStage::weights) {
      const int64_t index = strip.b * problem.shape.queries + strip.first_row + r;
      const float sum = row_sum[index];
      exponentiate(strip.scores + r * kKeyTile, strip.begin, strip.end, shift_of(row_max[index]));
      const float inverse = sum == 0 ? 0.0f : 1.0f / sum;
      for (int64_t c = 0; c < count; ++c) strip.scores[r * kKeyTile + c] *= inverse;
    }
    std::copy(scores, scores + count, out + row * out_stride + strip.first_key);
  }
};

void run_additive_scores(const Execution& execution, const AttentionProblem& problem,
                         const float* score_weights, const ScoreRequest& request,
                         const float* row_max, const float* row_sum, float* out,
                         int64_t out_stride) {
  const AdditiveLook look{problem, score_weights, request, row_max, row_sum, out, out_stride};
  const int64_t room = kKeyTile * (problem.shape.key_width + kAdditiveRows);
  const Scratch scratch(execution, room * execution.threads.size());
  execution.threads.parallel_for(
      round_up(problem.shape.keys, kKeyTile) / kKeyTile,
      [&](int64_t tile, int worker) { look.look_at_tile(tile, scratch.data + worker * room); });
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HWY_EXPORT(run_additive_forward);
HWY_EXPORT(run_additive_scores);
}  // namespace

void additive_attention_forward(const Execution& execution, const AttentionProblem& problem,
                                const float* score_weights, const AttentionOutputs& outputs) {
  HWY_DYNAMIC_DISPATCH(run_additive_forward)(execution, problem, score_weights, outputs);
}

void additive_attention_scores(const Execution& execution, const AttentionProblem& problem,
                               const float* score_weights, const ScoreRequest& request,
                               const float* row_max, const float* row_sum, float* out,
                               int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(run_additive_scores)
  (execution, problem, score_weights, request, row_max, row_sum, out, out_stride);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
