// Additive scoring: score(i, j) = sum_h w_v[h] * tanh(query[i][h] + key[j][h]) on already
// projected queries and keys. One head.
#pragma once

#include "headlight/kernels/attention.h"

namespace headlight::kernels {

// In `problem`, heads and kv_heads are 1; scale, softcap, position_bias and cached are not
// used, gates, dropout and all masks are. `score_weights` is w_v, (key_width,). Results as
// attention_forward's.
void additive_attention_forward(const Execution& execution, const AttentionProblem& problem,
                                const float* score_weights, const AttentionOutputs& outputs);
// As attention_backward; d_score_weights (key_width,) is added to when given.
void additive_attention_backward(const Execution& execution, const AttentionProblem& problem,
                                 const float* score_weights, const AttentionOutputs& outputs,
                                 tensor::ConstHeadsView d_output,
                                 const AttentionGradients& gradients, float* d_score_weights);
// As attention_scores; raw, scaled and capped are the same here.
void additive_attention_scores(const Execution& execution, const AttentionProblem& problem,
                               const float* score_weights, const ScoreRequest& request,
                               const float* row_max, const float* row_sum, float* out,
                               int64_t out_stride);

}  // namespace headlight::kernels
