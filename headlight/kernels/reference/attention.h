// Attention as the formulas have it, on plain arrays: the readable definition, and what tests
// compare with. Legend: b sequence, h query head, g its key/value head, i query, j key, d key
// column, e value column.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "headlight/kernels/attention.h"
#include "headlight/kernels/reference/position_bias.h"

namespace headlight::kernels::reference {

// May query i of head h see key j? The bias is not asked: -infinity there hides through the score.
inline bool visible(const AttentionShape& shape, const AttentionMask& mask, int64_t b, int64_t h,
                    int64_t i, int64_t j) {
  const int64_t position = i + (mask.past ? mask.past[b] : 0);
  if (mask.query_lens && i >= mask.query_lens[b]) return false;
  if (mask.causal && j > position) return false;
  if (mask.window > 0 && std::abs(position - j) >= mask.window) return false;
  if (mask.valid_lens &&
      j >= mask.valid_lens[mask.valid_lens_per_query ? b * shape.queries + i : b])
    return false;
  if (mask.keep && !mask.keep.at(b, h, i, j)) return false;
  if (mask.forbid && mask.forbid.at(b, h, i, j)) return false;
  return true;
}

// Arrays are contiguous: query (B,H,T,D), key (B,G,S,D), value (B,G,S,E), dropout (B,H,T,S) of 0 or
// 1/(1-p), or absent.
template <class T>
struct AttentionInputs {
  AttentionShape shape;
  const T* query = nullptr;
  const T* key = nullptr;
  const T* value = nullptr;
  T scale = 1;
  T softcap = 0;
  AttentionMask mask;  // its bias is not used
  tensor::Broadcast<const T> bias;
  PositionBias<T> position_bias;
  const T* gates = nullptr;
  int64_t gate_batch_stride = 0;
  const T* dropout = nullptr;
};

// What a score becomes on its way to the softmax; -infinity when hidden.
template <class T>
struct Score {
  T raw, scaled, capped, position_bias, masked;
};

// Where key j is, seen from query i.
template <class T>
int64_t relative_position(const AttentionInputs<T>& in, int64_t b, int64_t i, int64_t j) {
  return j - (i + (in.mask.past ? in.mask.past[b] : 0));
}

template <class T>
T dot(const T* x, const T* y, int64_t count) {
  T sum = 0;
  for (int64_t d = 0; d < count; ++d) sum += x[d] * y[d];
  return sum;
}

template <class T>
Score<T> finish_score(const AttentionInputs<T>& in, T raw, int64_t b, int64_t h, int64_t i,
                      int64_t j) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  Score<T> score;
  score.raw = raw;
  score.scaled = raw * in.scale;
  score.capped = in.softcap > 0 ? in.softcap * std::tanh(score.scaled / in.softcap) : score.scaled;
  score.position_bias =
      position_bias_of(in.position_bias, in.shape.heads, h, relative_position(in, b, i, j));
  const T bias = in.bias ? in.bias.at(b, h, i, j) : T(0);
  const bool hidden =
      !visible(in.shape, in.mask, b, h, i, j) || bias == kHidden || score.position_bias == kHidden;
  score.masked = hidden ? kHidden : score.capped + score.position_bias + bias;
  return score;
}

// Places of rows in the contiguous arrays.
struct AttentionIndex {
  const AttentionShape& s;
  int64_t row(int64_t b, int64_t h, int64_t i) const { return (b * s.heads + h) * s.queries + i; }
  int64_t key_row(int64_t b, int64_t h, int64_t j) const {
    return (b * s.kv_heads + s.kv_head(h)) * s.keys + j;
  }
};

template <class T>
Score<T> score_of(const AttentionInputs<T>& in, int64_t b, int64_t h, int64_t i, int64_t j) {
  const AttentionIndex at{in.shape};
  const int64_t width = in.shape.key_width;
  return finish_score(
      in, dot(in.query + at.row(b, h, i) * width, in.key + at.key_row(b, h, j) * width, width), b,
      h, i, j);
}

template <class T>
T gate_of(const AttentionInputs<T>& in, int64_t b, int64_t h) {
  return in.gates ? in.gates[b * in.gate_batch_stride + h] : T(1);
}

template <class T>
struct AttentionResult {
  std::vector<T> weights;  // (B,H,T,S), before dropout
  std::vector<T> row_max, row_sum;
  std::vector<T> ungated, output;  // (B,H,T,E)
};

// Softmax of one row of masked scores; a row with nothing to see is zero.
template <class T>
void softmax_row(const T* masked, int64_t count, T* weights, T& row_max, T& row_sum) {
  row_max = -std::numeric_limits<T>::infinity();
  row_sum = 0;
  for (int64_t j = 0; j < count; ++j)
    row_max = masked[j] > row_max || std::isnan(masked[j]) ? masked[j] : row_max;
  for (int64_t j = 0; j < count; ++j) {
    const bool hidden = masked[j] == -std::numeric_limits<T>::infinity();
    weights[j] = hidden ? T(0) : std::exp(masked[j] - row_max);
    row_sum += weights[j];
  }
  for (int64_t j = 0; j < count; ++j) weights[j] = weights[j] == T(0) ? T(0) : weights[j] / row_sum;
}

// `score(b, h, i, j)` gives the Score; attention and additive attention differ only there.
template <class T, class ScoreFunction>
AttentionResult<T> attend(const AttentionInputs<T>& in, const ScoreFunction& score) {
  const AttentionShape& s = in.shape;
  const AttentionIndex at{s};
  const int64_t rows = s.batch * s.heads * s.queries;
  AttentionResult<T> result;
  result.weights.resize(static_cast<size_t>(rows * s.keys));
  result.row_max.resize(static_cast<size_t>(rows));
  result.row_sum.resize(static_cast<size_t>(rows));
  result.ungated.assign(static_cast<size_t>(rows * s.value_width), T(0));
  result.output.assign(static_cast<size_t>(rows * s.value_width), T(0));
  std::vector<T> masked(static_cast<size_t>(s.keys));
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      for (int64_t i = 0; i < s.queries; ++i) {
        const int64_t row = at.row(b, h, i);
        for (int64_t j = 0; j < s.keys; ++j)
          masked[static_cast<size_t>(j)] = score(b, h, i, j).masked;
        T* weights = result.weights.data() + row * s.keys;
        softmax_row(masked.data(), s.keys, weights, result.row_max[static_cast<size_t>(row)],
                    result.row_sum[static_cast<size_t>(row)]);
        for (int64_t j = 0; j < s.keys; ++j) {
          if (masked[static_cast<size_t>(j)] == -std::numeric_limits<T>::infinity()) continue;
          const T factor = in.dropout ? in.dropout[row * s.keys + j] : T(1);
          for (int64_t e = 0; e < s.value_width; ++e) {
            result.ungated[static_cast<size_t>(row * s.value_width + e)] +=
                weights[j] * factor * in.value[at.key_row(b, h, j) * s.value_width + e];
          }
        }
        for (int64_t e = row * s.value_width; e < (row + 1) * s.value_width; ++e) {
          result.output[static_cast<size_t>(e)] =
              gate_of(in, b, h) * result.ungated[static_cast<size_t>(e)];
        }
      }
    }
  }
  return result;
}

template <class T>
AttentionResult<T> attention_forward(const AttentionInputs<T>& in) {
  return attend(
      in, [&](int64_t b, int64_t h, int64_t i, int64_t j) { return score_of(in, b, h, i, j); });
}

template <class T>
struct AttentionGradient {
  std::vector<T> query, key, value;
  std::vector<T> scores;  // (B,H,T,S): of the masked scores, which is the bias's before summing
                          // over repeated axes
  std::vector<T> gates;   // (B,H)
  std::vector<T> position_bias;  // as its coefficients
};

// With w the weights, f the dropout factors, g the gate, dO the gradient of the output:
//   dgate = sum dO . O,  dV_j = sum_i g w_ij f_ij dO_i,  dw_ij = g f_ij dO_i . V_j
//   dscore_ij = w_ij (dw_ij - sum_k w_ik dw_ik), which is the gradient of the biases too
// `back(b, h, i, j, dscore)` carries dscore on to the scoring function's own inputs.
template <class T, class Back>
AttentionGradient<T> attend_backward(const AttentionInputs<T>& in, const AttentionResult<T>& out,
                                     const T* d_output, const Back& back) {
  const AttentionShape& s = in.shape;
  const AttentionIndex at{s};
  const int64_t width = s.value_width;
  AttentionGradient<T> result;
  result.value.assign(static_cast<size_t>(s.batch * s.kv_heads * s.keys * width), T(0));
  result.scores.assign(out.weights.size(), T(0));
  result.gates.assign(static_cast<size_t>(s.batch * s.heads), T(0));
  const PositionBias<T>& position_bias = in.position_bias;
  const bool table = position_bias.kind == PositionBiasKind::buckets;
  result.position_bias.assign(static_cast<size_t>(s.heads * (table ? position_bias.buckets : 1)),
                              T(0));
  std::vector<T> d_weights(static_cast<size_t>(s.keys));
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      for (int64_t i = 0; i < s.queries; ++i) {
        const int64_t row = at.row(b, h, i);
        const T* d_row = d_output + row * width;
        const T* weights = out.weights.data() + row * s.keys;
        result.gates[static_cast<size_t>(b * s.heads + h)] +=
            dot(d_row, out.ungated.data() + row * width, width);
        T mean = 0;
        for (int64_t j = 0; j < s.keys; ++j) {
          d_weights[static_cast<size_t>(j)] = 0;
          if (weights[j] == T(0)) continue;
          const T factor = gate_of(in, b, h) * (in.dropout ? in.dropout[row * s.keys + j] : T(1));
          const int64_t value_row = at.key_row(b, h, j) * width;
          d_weights[static_cast<size_t>(j)] = factor * dot(d_row, in.value + value_row, width);
          mean += weights[j] * d_weights[static_cast<size_t>(j)];
          for (int64_t e = 0; e < width; ++e)
            result.value[static_cast<size_t>(value_row + e)] += factor * weights[j] * d_row[e];
        }
        for (int64_t j = 0; j < s.keys; ++j) {
          if (weights[j] == T(0)) continue;
          const T d_score = weights[j] * (d_weights[static_cast<size_t>(j)] - mean);
          result.scores[static_cast<size_t>(row * s.keys + j)] = d_score;
          add_position_bias_gradient(position_bias, s.heads, h, relative_position(in, b, i, j),
                                     d_score, result.position_bias.data());
          back(b, h, i, j, d_score);
        }
      }
    }
  }
  return result;
}

// Through the cap, d tanh(x) = 1 - tanh(x)^2; then dq_i += scale dscore_ij k_j and dk_j += scale
// dscore_ij q_i.
template <class T>
AttentionGradient<T> attention_backward(const AttentionInputs<T>& in, const AttentionResult<T>& out,
                                        const T* d_output) {
  const AttentionShape& s = in.shape;
  const AttentionIndex at{s};
  std::vector<T> d_query(static_cast<size_t>(s.batch * s.heads * s.queries * s.key_width), T(0));
  std::vector<T> d_key(static_cast<size_t>(s.batch * s.kv_heads * s.keys * s.key_width), T(0));
  AttentionGradient<T> result = attend_backward(
      in, out, d_output, [&](int64_t b, int64_t h, int64_t i, int64_t j, T d_score) {
        const T capped = score_of(in, b, h, i, j).capped;
        const T slope = in.softcap > 0 ? 1 - (capped / in.softcap) * (capped / in.softcap) : T(1);
        const T factor = d_score * slope * in.scale;
        const int64_t query_row = at.row(b, h, i) * s.key_width;
        const int64_t key_row = at.key_row(b, h, j) * s.key_width;
        for (int64_t d = 0; d < s.key_width; ++d) {
          d_query[static_cast<size_t>(query_row + d)] += factor * in.key[key_row + d];
          d_key[static_cast<size_t>(key_row + d)] += factor * in.query[query_row + d];
        }
      });
  result.query = std::move(d_query);
  result.key = std::move(d_key);
  return result;
}

}  // namespace headlight::kernels::reference
