// Where texts disagree: the same step computed in another way, by the engine's own operations.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/explain/trace.h"

namespace headlight::explain {

// Keys:
//   scale.sqrt_head_width  scale.sqrt_width  scale.width  scale.none     at attention
//   norm.post  norm.pre                                                  at norm_1
//   epsilon.inside  epsilon.outside                                      at layer norms
//   deviation.population  deviation.sample                               at layer norms
//   feed_forward.two  feed_forward.one                                   at ffn
//   position_index.pair  position_index.column                           at sinusoidal positions
//   prediction.per_position  prediction.flattened                        at logits
// Of each group one is the model's own. feed_forward.one is activation(x W + b) with the first C
// outputs of the first layer. prediction.flattened reads all rows as one, with the output layer's
// weight for each row, so that it is the same for one row. All of them can be recomputed and their
// cells explained like the rest.
struct Variant {
  std::string key;
  std::string place;    // "encoder.0.self", "encoder.0.norm_1", "encoder.positions", "logits"
  bool is_own = false;  // as the model does it; then its tensors are the run's own
  std::string formula;  // what sets it apart, as TracedTensor::formula
  std::vector<std::string> tensors;  // in order, "variant.scale.none.encoder.0.self.weights"; the
                                     // last one is the result
  std::string result_of;             // the run's tensor that the result stands for
  double largest_difference = 0;     // of the result from that tensor; where shapes differ, of its
                                     // last row
};

// The places of a trace that have variants, in order.
std::vector<std::string> variant_places(const Trace& trace);
// Computes the variants of one place from what was recorded there and adds their tensors to the
// trace (once). The model is the one that was traced.
std::vector<Variant> add_variants(Trace& trace, const models::Model& model,
                                  const std::string& place);
// Of every place; with keys, these alone.
std::vector<Variant> add_variants(Trace& trace, const models::Model& model,
                                  const std::set<std::string>& keys = {});

}  // namespace headlight::explain
