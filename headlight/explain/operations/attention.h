// Attention's tensors in a trace: how they are put, and their numbers that come late. Inside
// operations/ only.
#pragma once

#include "headlight/explain/operations/operations.h"

namespace headlight::explain {

// One run of an attention, for the tensors from scaled scores on.
struct AttentionRun {
  const RecordedStep& step;   // whose numbers they are
  std::string place;          // "encoder.0.self"
  std::string scores;         // the tensor that is scaled
  std::string value;          // (B, Hkv, S, E)
  std::string scale_formula;  // "attention.scale"
  std::vector<Axis> axes;     // of scores
  int64_t value_width = 0;
};
void put_weights(TraceBuilder& builder, const AttentionRun& run);

// All of an attention; the expansion of both kinds.
void put_attention(TraceBuilder& builder, const RecordedStep& step, const std::string& name);

// Which key/value head a query head reads: by a table, or as many heads each.
class KeyValueReaders {
 public:
  explicit KeyValueReaders(const tensor::Tensor& kv_head_of);  // absent: no table
  // As the operands of a tensor say.
  KeyValueReaders(const Trace& trace, const TracedTensor& made);
  int64_t kv_head(int64_t head, int64_t heads, int64_t kv_heads) const;

 private:
  tensor::Tensor kv_head_of_;
};

// x, (B, T, H*W) or already (B, H, T, W), as (B, H, T, W).
tensor::Tensor split_heads(const tensor::Tensor& x, int64_t heads);

}  // namespace headlight::explain
