// Direct logit attribution: a logit, or the difference of two, as a sum of what each part of the
// model adds to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/heads/logit_metric.h"
#include "headlight/io/io.h"

namespace headlight::heads {

enum class PartKind {
  embedding,  // of tokens, and of segments
  positions,
  head,            // z_h W_O^h
  attention_bias,  // of an output projection
  feed_forward,    // without its last bias
  feed_forward_bias,
  norm_bias,
  output_bias,  // of the output layer, and of a transform before it
  other,        // anything else that reaches the logits, whole
};
std::string_view name_of(PartKind kind);

struct AttributedPart {
  std::string part;  // "decoder.embedding", "decoder.0.self.3", "decoder.0.self.bias",
                     // "decoder.0.ffn", "decoder.0.ffn.bias", "decoder.norm.bias", "output.bias"
  PartKind kind = PartKind::other;
  double value = 0;
};

// An activation between the residual stream and the logits, as BERT's head has one. No part passes
// through it alone: each enters by the gain of this run, output over input of each number.
struct ActivationGain {
  std::string place;       // "prediction"
  std::string activation;  // "gelu"
};

struct Attribution {
  double measured = 0;                     // by the run
  std::vector<AttributedPart> parts = {};  // in the order in which they compute
  double sum = 0;                          // of the parts
  double rounding = 0;                     // measured - sum
  std::vector<ActivationGain> gains = {};
};

// The way from the logits back through the residual stream of one position, as the run reported it:
// whatever is added there is a part. Norms are passed with the scale that they had in this run (for
// layers with norms after each sum, that of every one on the way), which makes them linear; means
// are subtracted from each part. Computed in doubles from the run's numbers. What other positions
// and an encoder contribute enters through heads.
// Throws Error(bad_input) as check_metric does.
Attribution attribute_logits(base::ThreadPool& threads, const models::Model& model,
                             const models::Batch& batch, const LogitMetric& metric);

// {"measured", "parts": [{"part", "kind", "value"}], "sum", "rounding", "gains": [{"place",
// "activation"}]}.
io::Json::Object attribution_json(const Attribution& attribution);

}  // namespace headlight::heads
