// Additive attention forward, tiled with an online softmax, and a look inside. A task takes a block
// of query rows through the key tiles they can see. The tanh of every (row, key, column) is nearly
// all of the work, so rows are taken one by one and values are read where they lie.
#include "headlight/kernels/additive_attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/additive_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/additive-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

// Rows of a task: a key tile is rearranged once for them.
constexpr int64_t kAdditiveRows = 32;

class AdditiveForward {
 public:
  AdditiveForward(const AttentionProblem& problem, const float* score_weights,
                  const AttentionOutputs& outputs)
      : problem_(problem),
        score_weights_(score_weights),
        outputs_(outputs),
        shape_(problem.shape) {}

  void run(const Execution& execution) const {
    const int64_t blocks = (shape_.queries + kAdditiveRows - 1) / kAdditiveRows;
    const int64_t tile_size = kKeyTile * shape_.key_width;
    const Scratch tiles(execution, tile_size * execution.threads.size());
    execution.threads.parallel_for(shape_.batch * blocks, [&](int64_t index, int worker) {
      attend_block(index / blocks, index % blocks * kAdditiveRows, tiles.data + worker * tile_size);
    });
  }

 private:
  // The row of `output` holds the weighted sum of values until it is finished.
  void attend_block(int64_t b, int64_t first, float* tile_keys) const {
    const int64_t end = std::min(shape_.queries, first + kAdditiveRows);
    const int64_t live = std::clamp(live_queries(shape_, problem_.mask, b), first, end);
    const KeyInterval keys = seen_keys(shape_, problem_.mask, b, first, live - first).any;
    RowStates<kAdditiveRows> states(end - first);
    for (int64_t i = first; i < end; ++i) {
      float* output = outputs_.output.row(b, 0, i);
      std::fill(output, output + shape_.value_width, 0.0f);
    }
    for (int64_t tile = keys.first / kKeyTile; tile * kKeyTile < keys.last; ++tile) {
      transpose_tile(problem_.key, b, shape_.keys, shape_.key_width, tile, tile_keys);
      for (int64_t i = first; i < live; ++i) attend_row(b, i, tile, tile_keys, i - first, states);
    }
    for (int64_t i = first; i < end; ++i) {
      finish_row(problem_, outputs_, b, 0, i, states.max(i - first), states.sum(i - first),
                 outputs_.output.row(b, 0, i));
    }
  }

  // One step of a row's online softmax, the block's row number r.
  void attend_row(int64_t b, int64_t i, int64_t tile, const float* tile_keys, int64_t r,
                  RowStates<kAdditiveRows>& states) const {
    const KeyInterval keys = visible_keys(shape_, problem_.mask, b, i);
    const StripRow row = tile_row(b, i, tile, keys);
    if (row.begin == row.end) return;
    float scores[kKeyTile];
    additive_scores(problem_, score_weights_, row, tile_keys, scores);
    mask_row(problem_, row, keys, scores);
    float factor[kLanes] = {largest_score(scores, row.begin, row.end)};
    states.raise_maxima(r, 1, factor);
    states.exponentiate(r, factor[0], row.begin, row.end, scores);
    drop_weights(problem_, row, scores);
    add_values(row, scores, factor[0], outputs_.output.row(b, 0, i));
  }

  // sums = factor * sums + weights * values. What has no weight has no part, whatever it holds.
  void add_values(const StripRow& row, const float* weights, float factor, float* sums) const {
    const float* values = problem_.value.row(row.b, 0, row.first_key);
    for_vectors(0, shape_.value_width, [&](auto at) HWY_ATTR {
      const FloatTag d;
      FloatVec sum = hn::Mul(at.load(sums), hn::Set(d, factor));
      for (int64_t c = row.begin; c < row.end; ++c) {
        if (weights[c] == 0) continue;
        const FloatVec value = at.load(values + c * problem_.value.row_stride);
        sum = hn::MulAdd(hn::Set(d, weights[c]), value, sum);
      }
      at.store(sum, sums);
    });
  }

  const AttentionProblem& problem_;
  const float* score_weights_;
  const AttentionOutputs& outputs_;
  const AttentionShape& shape_;
};

void run_additive_forward(const Execution& execution, const AttentionProblem& problem,
                          const float* score_weights, const AttentionOutputs& outputs) {
  AdditiveForward(problem, score_weights, outputs).run(execution);
}

void run_additive_scores(const Execution& execution, const AttentionProblem& problem,
                         const float* score_weights, const ScoreRequest& request,
                         const float* row_max, const float* row_sum, float* out,
                         int64_t out_stride) {
  const AttentionShape& shape = problem.shape;
  const int64_t tile_size = kKeyTile * shape.key_width;
  const Scratch tiles(execution, tile_size * execution.threads.size());
  const int64_t count = (shape.keys + kKeyTile - 1) / kKeyTile;
  execution.threads.parallel_for(count, [&](int64_t tile, int worker) HWY_ATTR {
    float* tile_keys = tiles.data + worker * tile_size;
    transpose_tile(problem.key, request.batch, shape.keys, shape.key_width, tile, tile_keys);
    for (int64_t r = 0; r < request.row_count; ++r) {
      const int64_t i = request.first_row + r;
      const StripRow row = tile_row(request.batch, i, tile, {0, shape.keys});
      float scores[kKeyTile];
      additive_scores(problem, score_weights, row, tile_keys, scores);
      if (request.stage == ScoreStage::masked || request.stage == ScoreStage::weights) {
        const bool live = i < live_queries(shape, problem.mask, request.batch);
        const KeyInterval none;
        mask_row(problem, row, live ? visible_keys(shape, problem.mask, request.batch, i) : none,
                 scores);
      }
      if (request.stage == ScoreStage::weights) {
        const int64_t index = row_index(shape, request.batch, 0, i);
        weights_of_row(row_max[index], row_sum[index], row.begin, row.end, scores);
      }
      std::copy(scores, scores + std::min(kKeyTile, shape.keys - row.first_key),
                out + r * out_stride + row.first_key);
    }
  });
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HEADLIGHT_EXPORT(run_additive_forward);
HEADLIGHT_EXPORT(run_additive_scores);
}  // namespace

void additive_attention_forward(const Execution& execution, const AttentionProblem& problem,
                                const float* score_weights, const AttentionOutputs& outputs) {
  HEADLIGHT_DISPATCH(run_additive_forward)(execution, problem, score_weights, outputs);
}

void additive_attention_scores(const Execution& execution, const AttentionProblem& problem,
                               const float* score_weights, const ScoreRequest& request,
                               const float* row_max, const float* row_sum, float* out,
                               int64_t out_stride) {
  HEADLIGHT_DISPATCH(run_additive_scores)
  (execution, problem, score_weights, request, row_max, row_sum, out, out_stride);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
