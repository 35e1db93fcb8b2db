// Random attention problems with every feature drawn by chance, run by the kernels and by the
// reference on the same numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headlight/kernels/kernels.h"
#include "headlight/kernels/reference/additive_attention.h"

namespace headlight::tests {

// What may be drawn. Sizes run from 0 to largest_size; long_keys lets a case have several key
// tiles.
struct CaseLimits {
  int64_t largest_size = 70;
  bool long_keys = false;
  bool dropout = true;
  bool additive = false;  // additive scoring: one head, no scale, no cap
};

// Numbers are floats kept as doubles, so that kernel and reference see the same.
struct AttentionCase {
  kernels::AttentionShape shape;
  std::shared_ptr<const std::vector<int64_t>> kv_head_of;  // what the shape points to
  std::vector<double> query, key, value, d_output, gates, bias;
  std::vector<int64_t> past, valid_lens, query_lens;
  std::vector<uint8_t> keep, forbid;
  int64_t bias_sizes[4] = {}, keep_sizes[4] = {}, forbid_sizes[4] = {};
  bool causal = false, valid_lens_per_query = false, gates_per_sequence = false;
  int64_t window = 0;
  double scale = 1, softcap = 0;
  bool additive = false;
  std::vector<double> score_weights;  // of additive scoring
  float dropout_probability = 0;
  uint64_t dropout_key = 0;
  // Slopes (H,) or a table (buckets, H), as the reference takes them; the numbers are in
  // `positions`.
  kernels::reference::PositionBias<double> position_bias;
  std::vector<double> positions;

  static AttentionCase draw(uint64_t seed, const CaseLimits& limits);

  // Masks over this case's arrays, without the bias.
  kernels::AttentionMask mask() const;
  std::vector<double> dropout_factors() const;  // (B,H,T,S); empty without dropout
  std::string text() const;                     // for failure messages
};

// What a run gives, contiguous: output, ungated (B,H,T,E), row_max, row_sum (B,H,T), weights
// (B,H,T,S).
struct AttentionRun {
  std::vector<float> output, row_max, row_sum, weights;
  std::vector<float> d_query, d_key, d_value, d_bias, d_gates, d_score_weights, d_positions;
};

struct RunOptions {
  int threads = 2;
  bool heads_inside = false;  // (B,T,H,D) with a gap between rows instead of (B,H,T,D)
  bool backward = false;
  bool weights = false;
  kernels::ScoreStage stage = kernels::ScoreStage::weights;  // what `weights` receives
  int64_t only_sequence = -1;                                // run this sequence alone
};
AttentionRun run_kernels(const AttentionCase& given, const RunOptions& options);

struct ReferenceRun {
  kernels::reference::AttentionResult<double> forward;
  kernels::reference::AttentionGradient<double> backward;
  std::vector<double> d_bias, d_gates;  // summed over the axes along which they are repeated
  // Sizes of the terms of these sums, added up: what their rounding is measured by.
  double summed = 0;
  std::vector<double> d_score_weights, d_positions;
};
ReferenceRun run_reference(const AttentionCase& given);
// The inputs over the case's own arrays, without dropout.
kernels::reference::AttentionInputs<double> reference_inputs(const AttentionCase& given);

// Row by row with keys appended to a packed cache: output (B,H,T,E). The case must be without
// dropout.
std::vector<float> run_cached(const AttentionCase& given);

}  // namespace headlight::tests
