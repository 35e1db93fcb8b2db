// Additive attention backward: scores are computed again, nothing of size (queries x keys) is kept.
// A task takes a sequence through its key tiles, and each tile through the rows that see it. With P
// the weights, f the dropout factors, g the gate, O the output before it, t = tanh(query + key):
//   dP = g f (dO V^T),  dS = P (dP - g dO . O),  dV_j += g f P dO,
//   dw += dS t,  dquery += dS w (1 - t^2),  dkey_j += the same.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/additive_attention_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/additive_attention.h"
#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/additive-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

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
        shape_(problem.shape) {}

  // The gradients of score weights are summed up per sequence and then in their order. A bias that
  // sequences share is summed up by one task.
  void run(const Execution& execution, float* d_score_weights) const {
    const Scratch sums(execution, shape_.batch * shape_.key_width);
    std::fill(sums.data, sums.data + shape_.batch * shape_.key_width, 0.0f);
    const int64_t room = kKeyTile * (shape_.key_width + shape_.value_width) + shape_.queries;
    const Scratch scratch(execution, room * execution.threads.size());
    const bool shared_bias = gradients_.bias && gradients_.bias.strides[0] == 0;
    const int64_t sequences = shared_bias ? std::max<int64_t>(1, shape_.batch) : 1;  // of a task
    execution.threads.parallel_for(shape_.batch / sequences, [&](int64_t task, int worker) {
      for (int64_t b = task * sequences; b < (task + 1) * sequences; ++b)
        sequence(b, scratch.data + worker * room, sums.data + b * shape_.key_width);
    });
    for (int64_t b = 0; b < shape_.batch && d_score_weights; ++b) {
      for (int64_t k = 0; k < shape_.key_width; ++k)
        d_score_weights[k] += sums.data[b * shape_.key_width + k];
    }
    if (gradients_.gates) gate_gradient(execution, problem_, outputs_, d_output_, gradients_.gates);
  }

 private:
  // A row of scores and of what becomes of it, in the columns of one tile.
  struct TileGradients {
    float weights[kKeyTile];   // f P
    float d_scores[kKeyTile];  // dS; 0 where nothing is seen
  };

  void sequence(int64_t b, float* room, float* d_weights) const {
    float* tile_keys = room;                                       // (key_width x kKeyTile)
    float* tile_values = tile_keys + kKeyTile * shape_.key_width;  // (value_width x kKeyTile)
    float* deltas = tile_values + kKeyTile * shape_.value_width;   // (queries,): g dO . O
    const int64_t live = live_queries(shape_, problem_.mask, b);
    const KeyInterval keys = seen_keys(shape_, problem_.mask, b, 0, live).any;
    for (int64_t i = 0; i < live; ++i) {
      deltas[i] = gate_of(problem_, b, 0) * output_product(problem_, outputs_, d_output_, b, 0, i);
    }
    for (int64_t tile = keys.first / kKeyTile; tile * kKeyTile < keys.last; ++tile) {
      transpose_tile(problem_.key, b, shape_.keys, shape_.key_width, tile, tile_keys);
      transpose_tile(problem_.value, b, shape_.keys, shape_.value_width, tile, tile_values);
      for (int64_t i = 0; i < live; ++i) {
        const StripRow row = tile_row(b, i, tile, visible_keys(shape_, problem_.mask, b, i));
        if (row.begin == row.end || outputs_.row_sum[row_index(shape_, b, 0, i)] == 0) continue;
        TileGradients tile_gradients;
        score_gradients(row, tile_keys, tile_values, deltas[i], tile_gradients);
        pass_on(row, tile_gradients, d_weights);
      }
    }
  }

  void score_gradients(const StripRow& row, const float* tile_keys, const float* tile_values,
                       float delta, TileGradients& to) const {
    const FloatTag d;
    const float* d_output = d_output_.row(row.b, 0, row.i);
    const FloatVec gate = hn::Set(d, gate_of(problem_, row.b, 0));
    additive_scores(problem_, score_weights_, row, tile_keys, to.weights);
    mask_row(problem_, row, visible_keys(shape_, problem_.mask, row.b, row.i), to.weights);
    for (int64_t c = row.begin; c < row.end; c += kLanes) {
      FloatVec product = hn::Zero(d);
      for (int64_t e = 0; e < shape_.value_width; ++e) {
        const FloatVec value = hn::LoadU(d, tile_values + e * kKeyTile + c);
        product = hn::MulAdd(hn::Set(d, d_output[e]), value, product);
      }
      hn::StoreU(hn::Mul(gate, product), d, to.d_scores + c);
    }
    row_gradient(problem_, outputs_, row, delta, to.weights, to.d_scores);
  }

  // From a row's gradients to those of everything it came from.
  void pass_on(const StripRow& row, const TileGradients& from, float* d_weights) const {
    if (gradients_.query.data) {
      add_values(row, from);
      add_inputs<true>(row, from, d_weights);
    } else {
      add_inputs<false>(row, from, d_weights);
    }
    if (gradients_.bias) add_bias_gradient(shape_, row, from.d_scores, gradients_.bias);
  }

  void add_values(const StripRow& row, const TileGradients& from) const {
    const float* d_output = d_output_.row(row.b, 0, row.i);
    const float gate = gate_of(problem_, row.b, 0);
    float* d_values = gradients_.value.row(row.b, 0, row.first_key);
    for_vectors(0, shape_.value_width, [&](auto at) HWY_ATTR {
      const FloatVec d_row = at.load(d_output);
      for (int64_t c = row.begin; c < row.end; ++c) {
        if (from.weights[c] == 0) continue;
        float* d_value = d_values + c * gradients_.value.row_stride;
        const FloatVec weight = hn::Set(FloatTag(), gate * from.weights[c]);
        at.store(hn::MulAdd(weight, d_row, at.load(d_value)), d_value);
      }
    });
  }

  // To the score weights and, with kInputs, to the query and the keys.
  template <bool kInputs>
  void add_inputs(const StripRow& row, const TileGradients& from, float* d_weights) const {
    const FloatTag d;
    const float* query = problem_.query.row(row.b, 0, row.i);
    const float* keys = problem_.key.row(row.b, 0, row.first_key);
    float* d_query = kInputs ? gradients_.query.row(row.b, 0, row.i) : nullptr;
    float* d_keys = kInputs ? gradients_.key.row(row.b, 0, row.first_key) : nullptr;
    for_vectors(0, shape_.key_width, [&](auto at) HWY_ATTR {
      const FloatVec weight = at.load(score_weights_);
      const FloatVec from_query = at.load(query);
      FloatVec weight_sum = at.load(d_weights);
      FloatVec query_sum = hn::Zero(d);
      for (int64_t c = row.begin; c < row.end; ++c) {
        if (from.d_scores[c] == 0) continue;
        const FloatVec g = hn::Set(d, from.d_scores[c]);
        const FloatVec t =
            tanh(d, hn::Add(from_query, at.load(keys + c * problem_.key.row_stride)));
        const FloatVec gt = hn::Mul(g, t);
        weight_sum = hn::Add(weight_sum, gt);
        if constexpr (kInputs) {
          const FloatVec slope = hn::Mul(weight, hn::NegMulAdd(gt, t, g));
          float* d_key = d_keys + c * gradients_.key.row_stride;
          query_sum = hn::Add(query_sum, slope);
          at.store(hn::Add(at.load(d_key), slope), d_key);
        }
      }
      at.store(weight_sum, d_weights);
      if constexpr (kInputs) at.store(hn::Add(at.load(d_query), query_sum), d_query);
    });
  }

  const AttentionProblem& problem_;
  const float* score_weights_;
  const AttentionOutputs& outputs_;
  tensor::ConstHeadsView d_output_;
  const AttentionGradients& gradients_;
  const AttentionShape& shape_;
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
HEADLIGHT_EXPORT(run_additive_backward);
}

void additive_attention_backward(const Execution& execution, const AttentionProblem& problem,
                                 const float* score_weights, const AttentionOutputs& outputs,
                                 tensor::ConstHeadsView d_output,
                                 const AttentionGradients& gradients, float* d_score_weights) {
  HEADLIGHT_DISPATCH(run_additive_backward)
  (execution, problem, score_weights, outputs, d_output, gradients, d_score_weights);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
