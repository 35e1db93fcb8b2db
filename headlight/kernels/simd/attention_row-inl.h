// What both kinds of attention do with a row of scores: the online softmax, its end, dropout,
// weights once more, and their gradients. Per-target header: include it inside foreach_target files
// only.
#if defined(HEADLIGHT_KERNELS_SIMD_ATTENTION_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_ATTENTION_ROW_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_ATTENTION_ROW_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_ATTENTION_ROW_INL_H_
#endif

#include <hwy/highway.h>

#include "headlight/kernels/simd/random-inl.h"
#include "headlight/kernels/simd/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float inverse_of(float row_sum) { return row_sum == 0 ? 0.0f : 1.0f / row_sum; }

// The largest of the scores in columns [begin, end).
HWY_INLINE float largest_score(const float* HWY_RESTRICT scores, int64_t begin, int64_t end) {
  const FloatTag d;
  FloatVec largest = hn::Set(d, kHidden);
  for (int64_t c = begin; c < end; c += kLanes)
    largest = hn::Max(largest, hn::LoadU(d, scores + c));
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// The online softmax of up to kRows rows. A row's sum stays a vector until its end: adding up its
// lanes takes as long as several exponentials.
template <int64_t kRows>
class RowStates {
 public:
  explicit RowStates(int64_t rows) {
    std::fill(max_, max_ + rows + kLanes, kHidden);
    std::fill(sums_, sums_ + rows * kLanes, 0.0f);
  }

  // Takes the largest scores of a tile, of rows [first, first + count), into their maxima, in
  // place: they become the factors that what was summed up so far must be multiplied by. There is
  // room for a whole vector at the end of them.
  HWY_INLINE void raise_maxima(int64_t first, int64_t count, float* HWY_RESTRICT largest) {
    const FloatTag d;
    const FloatVec hidden = hn::Set(d, kHidden);
    for (int64_t r = 0; r < count; r += kLanes) {
      const FloatVec old_max = hn::LoadU(d, max_ + first + r);
      const FloatVec score = hn::LoadU(d, largest + r);
      const FloatVec new_max = hn::IfThenElse(hn::Lt(old_max, score), score, old_max);
      const FloatVec shift = hn::IfThenZeroElse(hn::Eq(new_max, hidden), new_max);
      hn::StoreU(exp_softmax(d, hn::Sub(old_max, shift)), d, largest + r);
      store_rows(new_max, max_ + first + r, count - r);
    }
  }

  // A tile of one row: masked scores become exp(score - maximum) and join the sum.
  HWY_INLINE void exponentiate(int64_t row, float factor, int64_t begin, int64_t end,
                               float* HWY_RESTRICT scores) {
    const FloatTag d;
    const FloatVec shift = hn::Set(d, shift_of(max_[row]));
    FloatVec sum = hn::Mul(hn::LoadU(d, sums_ + row * kLanes), hn::Set(d, factor));
    for (int64_t c = begin; c < end; c += kLanes) {
      const FloatVec weight = exp_softmax(d, hn::Sub(hn::LoadU(d, scores + c), shift));
      hn::StoreU(weight, d, scores + c);
      sum = hn::Add(sum, weight);
    }
    hn::StoreU(sum, d, sums_ + row * kLanes);
  }

  float max(int64_t row) const { return max_[row]; }
  HWY_INLINE float sum(int64_t row) const {
    const FloatTag d;
    return hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, sums_ + row * kLanes)));
  }

 private:
  static HWY_INLINE void store_rows(FloatVec v, float* to, int64_t count) {
    if (count >= kLanes) {
      hn::StoreU(v, FloatTag(), to);
    } else {
      store_first(v, to, count);
    }
  }

  float max_[kRows + kLanes];
  float sums_[kRows * kLanes];
};

inline int64_t row_index(const AttentionShape& shape, int64_t b, int64_t h, int64_t i) {
  return (b * shape.heads + h) * shape.queries + i;
}

inline float gate_of(const AttentionProblem& problem, int64_t b, int64_t h) {
  return problem.gates ? problem.gates[b * problem.gate_batch_stride + h] : 1.0f;
}

// The end of a row: its weighted sum of values, divided and gated, and what backward needs.
inline void finish_row(const AttentionProblem& problem, const AttentionOutputs& outputs, int64_t b,
                       int64_t h, int64_t i, float row_max, float row_sum, const float* sums) {
  const int64_t index = row_index(problem.shape, b, h, i);
  if (outputs.row_max) outputs.row_max[index] = row_max;
  if (outputs.row_sum) outputs.row_sum[index] = row_sum;
  const FloatVec inverse = hn::Set(FloatTag(), inverse_of(row_sum));
  const FloatVec gate = hn::Set(FloatTag(), gate_of(problem, b, h));
  float* ungated = outputs.ungated.data ? outputs.ungated.row(b, h, i) : nullptr;
  float* output = outputs.output.row(b, h, i);
  for_vectors(0, problem.shape.value_width, [&](auto at) HWY_ATTR {
    const FloatVec value = hn::Mul(at.load(sums), inverse);
    if (ungated) at.store(value, ungated);
    at.store(hn::Mul(value, gate), output);
  });
}

// The dropout factors of a row's columns: factors[c] is 0 or 1 / (1 - probability).
HWY_INLINE void weight_drops(const AttentionProblem& problem, const StripRow& row, float* factors) {
  const AttentionDropout& dropout = problem.dropout;
  const int64_t sequence = dropout.first_sequence + row.b;
  dropout_factors(dropout.key, static_cast<uint32_t>(row.i), static_cast<uint32_t>(row.h),
                  static_cast<uint32_t>(sequence), row.first_key + row.begin, row.end - row.begin,
                  dropout.probability, factors + row.begin);
}

HWY_INLINE void drop_weights(const AttentionProblem& problem, const StripRow& row, float* weights) {
  if (problem.dropout.probability == 0) return;
  float drops[kKeyTile];
  weight_drops(problem, row, drops);
  const FloatTag d;
  for (int64_t c = row.begin; c < row.end; c += kLanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, weights + c), hn::LoadU(d, drops + c)), d, weights + c);
}

// exp(score - shift) * inverse_sum, and 0 for a hidden score even in a row that is not a number.
HWY_INLINE FloatVec weight_of(FloatVec score, FloatVec shift, FloatVec inverse_sum) {
  const FloatTag d;
  const FloatVec weight = hn::Mul(exp_softmax(d, hn::Sub(score, shift)), inverse_sum);
  return hn::IfThenZeroElse(hn::Eq(score, hn::Set(d, kHidden)), weight);
}

// Masked scores become weights.
HWY_INLINE void weights_of_row(float row_max, float row_sum, int64_t begin, int64_t end,
                               float* row) {
  const FloatTag d;
  const FloatVec shift = hn::Set(d, shift_of(row_max));
  const FloatVec inverse = hn::Set(d, inverse_of(row_sum));
  for (int64_t c = begin; c < end; c += kLanes) {
    hn::StoreU(weight_of(hn::LoadU(d, row + c), shift, inverse), d, row + c);
  }
}

// dO . O of a row, before the gate; 0 when the row has seen nothing.
HWY_INLINE float output_product(const AttentionProblem& problem, const AttentionOutputs& outputs,
                                const tensor::ConstHeadsView& d_output, int64_t b, int64_t h,
                                int64_t i) {
  if (outputs.row_sum[row_index(problem.shape, b, h, i)] == 0) return 0;
  const tensor::HeadsView& output = outputs.ungated.data ? outputs.ungated : outputs.output;
  const auto product = [](FloatVec x, FloatVec y) HWY_ATTR { return hn::Mul(x, y); };
  return static_cast<float>(
      sum_row(problem.shape.value_width, product, d_output.row(b, h, i), output.row(b, h, i)));
}

// One row: masked scores become f P, and g dO V^T becomes dS = P (f g dO V^T - delta), delta being
// g dO . O.
HWY_INLINE void row_gradient(const AttentionProblem& problem, const AttentionOutputs& outputs,
                             const StripRow& at, float delta, float* HWY_RESTRICT row,
                             float* HWY_RESTRICT d_row) {
  const FloatTag d;
  const int64_t index = row_index(problem.shape, at.b, at.h, at.i);
  const FloatVec shift = hn::Set(d, shift_of(outputs.row_max[index]));
  const FloatVec inverse = hn::Set(d, inverse_of(outputs.row_sum[index]));
  const FloatVec deltas = hn::Set(d, delta);
  float drops[kKeyTile];
  const bool dropout = problem.dropout.probability > 0;
  if (dropout) weight_drops(problem, at, drops);
  for (int64_t c = at.begin; c < at.end; c += kLanes) {
    const FloatVec weight = weight_of(hn::LoadU(d, row + c), shift, inverse);
    FloatVec d_weight = hn::LoadU(d, d_row + c);
    FloatVec kept = weight;
    if (dropout) {
      const FloatVec drop = hn::LoadU(d, drops + c);
      d_weight = hn::Mul(d_weight, drop);
      kept = hn::Mul(weight, drop);
    }
    const FloatVec d_score = hn::Mul(weight, hn::Sub(d_weight, deltas));
    // What is hidden stays out, even where dO V^T is not a number.
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(d)), d_score), d, d_row + c);
    hn::StoreU(kept, d, row + c);
  }
}

// The bias is added after the cap: its gradient is dS, summed over the axes it is repeated along.
inline void add_bias_gradient(const AttentionShape& shape, const StripRow& row,
                              const float* d_scores, const tensor::Broadcast<float>& d_bias) {
  const int64_t end = std::min(row.end, shape.keys - row.first_key);
  for (int64_t c = row.begin; c < end; ++c)
    d_bias.at(row.b, row.h, row.i, row.first_key + c) += d_scores[c];
}

// dgate = sum over rows (and sequences that share it) of dO . O.
inline void gate_gradient(const Execution& execution, const AttentionProblem& problem,
                          const AttentionOutputs& outputs, const tensor::ConstHeadsView& d_output,
                          float* d_gates) {
  for (int64_t b = 0; b < problem.shape.batch; ++b) {
    execution.threads.parallel_for(problem.shape.heads, [&](int64_t h, int) HWY_ATTR {
      float sum = 0;
      for (int64_t i = 0; i < live_queries(problem.shape, problem.mask, b); ++i)
        sum += output_product(problem, outputs, d_output, b, h, i);
      d_gates[b * problem.gate_batch_stride + h] += sum;
    });
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
