// Operation: what made a tensor, in words that an independent program can follow.
#pragma once

#include <string_view>

namespace headlight::explain {

// Each with its operands by role (those in brackets may be absent) and its attributes. Shapes are
// (B, ...); "last" is the last axis.
enum class Operation {
  given,      // an input of what is shown: ids, or a tensor of a layer that was left out
  parameter,  // learned numbers
  copy,       // input
  table,      // ids, table: row ids[b, t] + start of the table, times `scale`. Without ids: row
              // t + start for every sequence
  sinusoid,   // position `start` + t, R14; `base`, `order` interleaved|halves, `divisor`
              // half|half_minus_one, `index` pair|column
  add,        // left, right, [more]
  linear,     // input (..., I), weight, [bias]: rows times the outputs [weight_begin, + outputs) of
              // the weight, plus bias [bias_begin, + outputs); `layout` out_in|in_out. `repeat` n:
              // the weight's inputs n times side by side; the input is (B, T, C) read as (B, T*C)
  cut,        // input: columns [begin, + width) of the last axis
  split,      // input (B, T, H*W) to (B, H, T, W); `heads`
  scores,     // query (B, H, T, D), key (B, Hkv, S, D): dot products (B, H, T, S)
  scale,      // input times `factor`
  mask,       // input, -infinity where not seen; `causal`: key j is seen by query i when j <= i
  row_max,    // input: the largest of each row (last axis)
  row_sum,    // input, maximum: the sum of exp(input - maximum) over each row
  softmax,    // input, maximum, sum: exp(input - maximum) / sum
  weigh,      // weights (B, H, T, S), value (B, Hkv, S, E): each a_ij * v_j, (B, H, T, S, E)
  sum_keys,   // input (B, H, T, S, E): summed over S
  merge,      // input (B, H, T, E), [gates (H,)]: (B, T, H*E)
  mean,       // input: over the last axis
  deviation,  // input, mean: sqrt(sum (x - mean)^2 / n + epsilon); `epsilon`; `sample`: n - 1 in
              // place of n; `outside`: sqrt(sum / n) + epsilon
  normalize,  // input, mean, deviation: (x - mean) / deviation
  scale_shift,  // input, weight, [bias]: input * weight + bias
  activation,   // input; `function` relu|gelu|gelu_new
};

// The enumerator's name, e.g. "scale_shift".
std::string_view name_of(Operation operation);

}  // namespace headlight::explain
