// Looking inside attention: scores and weights of chosen rows, by the forward pass's own score-tile
// function.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/attention_scores.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/attention.h"
#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/simd/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

class Scores {
 public:
  Scores(const AttentionProblem& problem, const ScoreRequest& request, const float* row_max,
         const float* row_sum, float* out, int64_t out_stride)
      : problem_(problem),
        request_(request),
        row_max_(row_max),
        row_sum_(row_sum),
        out_(out),
        out_stride_(out_stride),
        positions_(problem) {}

  // Floats of scratch for run_tile: a tile of keys, a group of rows, a strip of scores and their
  // position biases.
  int64_t scratch_size() const {
    const int64_t width = problem_.shape.key_width;
    return kKeyTile * width + kTileRows * (width + kKeyTile) + positions_.size(kTileRows, kKeyTile);
  }

  // One key tile against all rows asked for.
  void run_tile(int64_t tile, float* packed) const {
    float* group = packed + kKeyTile * problem_.shape.key_width;
    float* scores = group + kTileRows * problem_.shape.key_width;
    float* biases = scores + kTileRows * kKeyTile;
    const AttentionShape& shape = problem_.shape;
    const int64_t g = shape.kv_head(request_.head);
    pack_panels(problem_.key.row(request_.batch, g, 0), problem_.key.row_stride, shape.keys,
                shape.key_width, tile, packed);
    for (int64_t row = 0; row < request_.row_count; row += kTileRows) {
      const int64_t first = request_.first_row + row;
      ScoreStrip strip{.b = request_.batch,
                       .h = request_.head,
                       .first_row = first,
                       .rows = std::min<int64_t>(kTileRows, request_.row_count - row),
                       .query = group,
                       .keys = packed,
                       .scores = scores};
      pack_row_groups(problem_.query.row(request_.batch, request_.head, first),
                      problem_.query.row_stride, strip.rows, shape.key_width, group);
      set_columns(strip, tile, {{0, shape.keys}, {}});
      strip.position_bias = positions_
                                .fill({strip.b, strip.h, first, strip.rows},
                                      {strip.first_key, strip.first_key + kKeyTile}, biases)
                                .of_row(first, strip.first_key);
      if (request_.stage == ScoreStage::position_bias) {
        for (int64_t r = 0; r < strip.rows; ++r) write_row(strip, r, strip.position_bias - r);
        continue;
      }
      const bool weights = request_.stage == ScoreStage::weights;
      score_strip(problem_, strip, weights ? ScoreStage::masked : request_.stage);
      for (int64_t r = 0; r < strip.rows; ++r) {
        if (weights) to_weights(strip, r);
        write_row(strip, r, strip.scores + r * kKeyTile);
      }
    }
  }

 private:
  void to_weights(const ScoreStrip& strip, int64_t r) const {
    const int64_t index = row_index(problem_.shape, strip.b, strip.h, strip.first_row + r);
    weights_of_row(row_max_[index], row_sum_[index], strip.begin, strip.end,
                   strip.scores + r * kKeyTile);
  }

  void write_row(const ScoreStrip& strip, int64_t r, const float* row) const {
    const int64_t count = std::min(kKeyTile, problem_.shape.keys - strip.first_key);
    const int64_t i = strip.first_row + r - request_.first_row;
    std::copy(row, row + count, out_ + i * out_stride_ + strip.first_key);
  }

  const AttentionProblem& problem_;
  const ScoreRequest& request_;
  const float* row_max_;
  const float* row_sum_;
  float* out_;
  int64_t out_stride_;
  const PositionBiasSource positions_;
};

void run_scores(const Execution& execution, const AttentionProblem& problem,
                const ScoreRequest& request, const float* row_max, const float* row_sum, float* out,
                int64_t out_stride) {
  const Scores scores(problem, request, row_max, row_sum, out, out_stride);
  const int64_t worker_size = scores.scratch_size();
  const tensor::Block block = execution.arena.allocate(
      sizeof(float) * static_cast<size_t>(worker_size * execution.threads.size()));
  float* scratch = reinterpret_cast<float*>(block.get());
  const int64_t tiles = round_up(problem.shape.keys, kKeyTile) / kKeyTile;
  execution.threads.parallel_for(tiles, [&](int64_t tile, int worker) {
    scores.run_tile(tile, scratch + worker * worker_size);
  });
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {

HEADLIGHT_EXPORT(run_scores);

void attention_scores(const Execution& execution, const AttentionProblem& problem,
                      const ScoreRequest& request, const float* row_max, const float* row_sum,
                      float* out, int64_t out_stride) {
  HEADLIGHT_DISPATCH(run_scores)(execution, problem, request, row_max, row_sum, out, out_stride);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
