// What both attention operations do around their kernels: allocate the results, show them to the
// observer and bring the gradients where they belong. Inside autograd only.
#pragma once

#include <functional>

#include "headlight/autograd/ops/attention_inputs.h"
#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {

struct AttentionResults {
  tensor::Tensor output;
  tensor::Tensor ungated;  // absent without gates, or when nobody needs it
  tensor::Tensor row_max, row_sum;

  AttentionResults() = default;
  AttentionResults(Context& context, const AttentionInputs& inputs, bool keeps_ungated);
  kernels::AttentionOutputs outputs(int64_t heads);
};

// Scores of one request, row after row, by the kernel that made the results:
// kernels::attention_scores or its additive twin. Inputs are without a cache.
using ScoreFunction = std::function<void(
    const kernels::Execution& execution, const AttentionInputs& inputs,
    const AttentionResults& results, const kernels::ScoreRequest& request, float* out)>;
// Delivers what the Context's observer, which must be there, wants of this run at `place`.
void observe_attention(Context& context, std::string_view place, const AttentionInputs& inputs,
                       const AttentionResults& results, const ScoreFunction& scores);

// A call of an attention operation, for its report.
struct ReportedAttention {
  const AttentionOptions& options;
  const Value& query;
  const Value& key;
  const Value& value;
  const Value& gates;
  const Value& output;
  Value score_weights = {};  // of additive scoring
  ScoreFunction scores;
};
Report attention_report(const char* operation, const AttentionInputs& inputs,
                        const AttentionResults& results, const ReportedAttention& call);

// Where the gradients of the inputs go; null where none is wanted.
struct AttentionTargets {
  std::shared_ptr<Gradient> query, key, value, bias, gates;
  std::shared_ptr<Gradient> position_bias = nullptr;  // of the coefficients
};

// The kernels' view of the targets. Query, key and value are computed together and at once: those
// not wanted, and those whose memory another one uses too (self-attention on one tensor), get
// memory of their own, which finish() adds to the target.
class AttentionGradientMemory {
 public:
  AttentionGradientMemory(Context& context, const AttentionInputs& inputs,
                          const AttentionTargets& targets);
  const kernels::AttentionGradients& views() const { return views_; }
  void finish(Context& context);

 private:
  struct Detour {
    tensor::Tensor memory;
    std::shared_ptr<Gradient> target;  // may be null
  };
  tensor::Tensor memory_for(Context& context, const tensor::Tensor& input,
                            const std::shared_ptr<Gradient>& target);

  std::vector<tensor::Tensor> direct_;
  std::vector<Detour> detours_;
  kernels::AttentionGradients views_;
};

}  // namespace headlight::autograd
