// A drawn attention problem as the double-precision reference takes it, and the gradients back in
// the order of the inputs.
#pragma once

#include <array>
#include <cmath>

#include "headlight/kernels/reference/attention.h"
#include "tests/op_cases/case.h"

namespace headlight::tests {

// A drawn problem. Its inputs are query, key, value and then, where they are taken, bias, gates and
// the coefficients of a position bias.
struct AttentionDraw {
  kernels::AttentionShape shape;
  bool split = false;  // rank 4, (B, H, T, D), instead of rank 3, (B, T, H*D)
  autograd::AttentionOptions options;
  autograd::PrunedHeads pruned;  // what the options may point to
  tensor::Shape bias_shape;      // rank 0: none
  tensor::Shape gate_shape;      // rank 0: none
  tensor::Shape position_shape;  // rank 0: none

  size_t gate_input() const { return bias_shape.rank() > 0 ? 4 : 3; }
  size_t position_input() const { return gate_input() + (gate_shape.rank() > 0 ? 1 : 0); }
};

// (B, T, H*W) as (B, H, T, W).
inline Numbers heads_first(const Numbers& x, int64_t batch, int64_t rows, int64_t heads) {
  Numbers y;
  y.reserve(x.size());
  const int64_t width = x.empty() ? 0 : static_cast<int64_t>(x.size()) / (batch * rows * heads);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t t = 0; t < rows; ++t) {
        const auto row = x.begin() + ((b * rows + t) * heads + h) * width;
        y.insert(y.end(), row, row + width);
      }
    }
  }
  return y;
}
// And back.
inline Numbers rows_first(const Numbers& x, int64_t batch, int64_t rows, int64_t heads) {
  return heads_first(x, batch, heads, rows);
}

// What a weight is multiplied by, from its key, sequence, head, row and column, as the kernels
// promise.
inline double dropout_factor(uint64_t key, float probability, std::array<int64_t, 4> place) {
  const base::PhiloxBlock numbers =
      base::philox({static_cast<uint32_t>(place[3] / 4), static_cast<uint32_t>(place[2]),
                    static_cast<uint32_t>(place[1]), static_cast<uint32_t>(place[0])},
                   key);
  const double bits = numbers[static_cast<size_t>(place[3] % 4)];
  return bits >= std::floor(double{probability} * 0x1p32) ? 1 / (1 - double{probability}) : 0;
}

// The reference's inputs, with the memory they point to.
struct AttentionReference {
  kernels::reference::AttentionInputs<double> inputs;
  Numbers query, key, value, bias, gates, positions, dropout;
  const AttentionDraw& drawn;

  AttentionReference(const AttentionDraw& problem, const References& given, uint64_t dropout_key)
      : drawn(problem) {
    const kernels::AttentionShape& s = problem.shape;
    query = given_heads(given[0], s.queries, s.heads);
    key = given_heads(given[1], s.keys, s.kv_heads);
    value = given_heads(given[2], s.keys, s.kv_heads);
    inputs.shape = s;
    inputs.query = query.data();
    inputs.key = key.data();
    inputs.value = value.data();
    set_masks(problem.options);
    if (problem.bias_shape.rank() > 0) {
      bias = given[3];
      inputs.bias = {bias.data(), strides(problem.bias_shape)};
    }
    if (problem.gate_shape.rank() > 0) {
      gates = given[problem.gate_input()];
      inputs.gates = gates.data();
      inputs.gate_batch_stride = problem.gate_shape.rank() == 2 ? s.heads : 0;
    }
    if (problem.position_shape.rank() > 0) set_position_bias(given[problem.position_input()]);
    if (problem.options.dropout > 0) draw_dropout(dropout_key);
  }
  AttentionReference(const AttentionReference&) = delete;
  AttentionReference& operator=(const AttentionReference&) = delete;

  Numbers given_heads(const Numbers& x, int64_t rows, int64_t heads) const {
    return drawn.split ? x : heads_first(x, drawn.shape.batch, rows, heads);
  }
  Numbers engine_rows(const Numbers& x, int64_t rows, int64_t heads) const {
    return drawn.split ? x : rows_first(x, drawn.shape.batch, rows, heads);
  }

  void set_masks(const autograd::AttentionOptions& options) {
    inputs.scale = options.scale ? static_cast<double>(*options.scale)
                                 : 1 / std::sqrt(static_cast<double>(drawn.shape.key_width));
    inputs.softcap = options.softcap;
    inputs.mask.causal = options.causal;
    inputs.mask.window = options.window;
    if (options.past.defined()) inputs.mask.past = options.past.data<int64_t>();
    if (options.valid_lens.defined()) {
      inputs.mask.valid_lens = options.valid_lens.data<int64_t>();
      inputs.mask.valid_lens_per_query = options.valid_lens.rank() == 2;
    }
    if (options.query_lens.defined()) inputs.mask.query_lens = options.query_lens.data<int64_t>();
    if (options.keep_mask.defined()) {
      inputs.mask.keep = {options.keep_mask.data<bool>(), strides(options.keep_mask.shape())};
    }
    if (options.forbid_mask.defined()) {
      inputs.mask.forbid = {options.forbid_mask.data<bool>(), strides(options.forbid_mask.shape())};
    }
  }

  void set_position_bias(const Numbers& coefficients) {
    positions = coefficients;
    const autograd::PositionBias& bias = drawn.options.position_bias;
    inputs.position_bias = {bias.kind, positions.data(), drawn.position_shape[0],
                            bias.bidirectional, bias.max_distance};
  }

  // Strides over (batch, head, query, key) of a contiguous mask or bias; 0 where it repeats.
  static std::array<int64_t, 4> strides(const tensor::Shape& shape) {
    std::array<int64_t, 4> result{};
    int64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const int place = shape.rank() == 3 && axis == 0 ? 0 : axis + 4 - shape.rank();
      result[static_cast<size_t>(place)] = shape[axis] == 1 ? 0 : stride;
      stride *= shape[axis];
    }
    return result;
  }

  // f(b, h, i, j) for each score.
  template <class F>
  void each_score(const F& f) const {
    const kernels::AttentionShape& s = drawn.shape;
    for (int64_t index = 0; index < s.batch * s.heads * s.queries * s.keys; ++index) {
      const int64_t row = index / s.keys;
      f(index, row / s.queries / s.heads, row / s.queries % s.heads, row % s.queries,
        index % s.keys);
    }
  }

  void draw_dropout(uint64_t dropout_key) {
    each_score([&](int64_t, int64_t b, int64_t h, int64_t i, int64_t j) {
      dropout.push_back(dropout_factor(dropout_key, drawn.options.dropout, {b, h, i, j}));
    });
    inputs.dropout = dropout.data();
  }

  // The gradients in the order of the inputs.
  References gradients(const kernels::reference::AttentionGradient<double>& gradient) const {
    const kernels::AttentionShape& s = drawn.shape;
    References result = {engine_rows(gradient.query, s.queries, s.heads),
                         engine_rows(gradient.key, s.keys, s.kv_heads),
                         engine_rows(gradient.value, s.keys, s.kv_heads)};
    if (!bias.empty() || drawn.bias_shape.rank() > 0) {
      Numbers d_bias(bias.size());
      const tensor::Broadcast<double> sums{d_bias.data(), strides(drawn.bias_shape)};
      each_score([&](int64_t index, int64_t b, int64_t h, int64_t i, int64_t j) {
        sums.at(b, h, i, j) += gradient.scores[static_cast<size_t>(index)];
      });
      result.push_back(std::move(d_bias));
    }
    if (drawn.gate_shape.rank() > 0) {
      Numbers d_gates(gates.size());
      for (int64_t i = 0; i < s.batch * s.heads; ++i) {
        const int64_t to = drawn.gate_shape.rank() == 2 ? i : i % s.heads;
        d_gates[static_cast<size_t>(to)] += gradient.gates[static_cast<size_t>(i)];
      }
      result.push_back(std::move(d_gates));
    }
    if (drawn.position_shape.rank() > 0) result.push_back(gradient.position_bias);
    return result;
  }
};

}  // namespace headlight::tests
