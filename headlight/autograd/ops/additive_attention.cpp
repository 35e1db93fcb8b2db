// additive_attention: one head, its own tiled kernel.
#include "headlight/autograd/ops/additive_attention.h"

#include "headlight/autograd/checks.h"
#include "headlight/autograd/ops/attention_run.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::Tensor;

constexpr const char* kName = "additive_attention";

struct AdditiveAttentionNode : Node {
  AttentionInputs inputs;
  AttentionResults results;
  AttentionTargets targets;
  Tensor score_weights;
  std::shared_ptr<Gradient> d_score_weights;

  // With t = tanh(q_i + k_j), s_ij = v . t, and ds as in attention:
  //   dv += sum of ds_ij t;  dq_i += sum over j of ds_ij v (1 - t^2);  dk_j the same over i
  void backward(Context& context) override {
    AttentionGradientMemory memory(context, inputs, targets);
    kernels::additive_attention_backward(
        context.execution(), inputs.problem(), score_weights.data<float>(), results.outputs(1),
        output_gradient().heads(1), memory.views(),
        d_score_weights ? d_score_weights->sum(context).mutable_data<float>() : nullptr);
    memory.finish(context);
  }
};

void check_additive(const Value& query, const Value& score_weights,
                    const AttentionOptions& options) {
  if (options.heads != 1 || options.kv_heads > 1) {
    refuse(kName, "heads",
           std::to_string(std::max(options.heads, options.kv_heads)) +
               " are asked for, additive scoring has one");
  }
  if (query.defined() && query.rank() != 3) {
    refuse(kName, "query", "shape is " + query.shape().text() + ", rank 3 is needed");
  }
  if (options.scale || options.softcap != 0) {
    refuse(kName, options.scale ? "scale" : "softcap", "additive scoring has none");
  }
  if (options.position_bias.kind != PositionBiasKind::none) {
    refuse(kName, "position_bias", "additive scoring has none");
  }
  const Tensor& weights = score_weights.data();
  if (query.defined()) {
    const bool row = weights.defined() && weights.rank() == 2 && weights.size(0) == 1;
    check_vector(kName, "score_weights", row ? weights.reshaped({weights.elements()}) : weights,
                 query.size(-1), "query rows have " + std::to_string(query.size(-1)));
  }
}

ScoreFunction additive_scores_again(const Tensor& weights) {
  return
      [weights](const kernels::Execution& execution, const AttentionInputs& inputs,
                const AttentionResults& results, const kernels::ScoreRequest& request, float* out) {
        kernels::additive_attention_scores(execution, inputs.problem(), weights.data<float>(),
                                           request, results.row_max.data<float>(),
                                           results.row_sum.data<float>(), out, inputs.shape.keys);
      };
}

AttentionResults run(Context& context, const AttentionInputs& inputs, const Tensor& weights,
                     std::string_view place, bool record) {
  const bool keeps_ungated = inputs.gates.defined() && (record || context.observer != nullptr);
  AttentionResults results(context, inputs, keeps_ungated);
  kernels::additive_attention_forward(context.execution(), inputs.problem(), weights.data<float>(),
                                      results.outputs(1));
  if (context.observer != nullptr) {
    observe_attention(context, place, inputs, results, additive_scores_again(weights));
  }
  return results;
}

}  // namespace

Value additive_attention(Context& context, const Value& query, const Value& key, const Value& value,
                         const Value& score_weights, const AttentionOptions& options) {
  check_additive(query, score_weights, options);
  AttentionInputs inputs =
      checked_attention(kName, query.data(), key.data(), value.data(), options);
  const Value gates = effective_gates(context, options, inputs.shape.heads);
  set_attention_options(context, kName, inputs, options, gates);
  const bool record =
      recording(context, {&query, &key, &value, &score_weights, &options.bias, &gates});
  const AttentionResults results =
      run(context, inputs, score_weights.data(), options.place, record);
  Value output = Value::leaf(results.output);
  if (record) {
    auto node = std::make_unique<AdditiveAttentionNode>();
    node->inputs = inputs;
    node->results = results;
    node->targets = {query.gradient(), key.gradient(), value.gradient(), options.bias.gradient(),
                     gates.gradient()};
    node->score_weights = score_weights.data();
    node->d_score_weights = score_weights.gradient();
    output = context.tape->record(std::move(node), results.output);
  }
  report(context, [&] {
    return attention_report(kName, inputs, results,
                            {.options = options,
                             .query = query,
                             .key = key,
                             .value = value,
                             .gates = gates,
                             .output = output,
                             .score_weights = score_weights,
                             .scores = additive_scores_again(score_weights.data())});
  });
  return output;
}

}  // namespace headlight::autograd
