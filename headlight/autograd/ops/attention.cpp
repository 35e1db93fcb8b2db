// attention: the fused kernel, forward and backward.
#include "headlight/autograd/ops/attention.h"

#include "headlight/autograd/ops/attention_run.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::Tensor;

struct AttentionNode : Node {
  AttentionInputs inputs;
  AttentionResults results;
  AttentionTargets targets;

  // With weights w, gate g, O the ungated output and dO the gradient of the gated one:
  //   dV += w^T g dO;  dg += sum(dO * O);  ds = w * (g dO V^T - g sum(dO * O))
  //   dbias += ds;  dslope -= ds |relative|, or dtable[bucket] += ds
  //   dQ += ds' K;  dK += ds'^T Q, with ds' the gradient before cap and scale
  // The weights are computed again, tile by tile.
  void backward(Context& context) override {
    AttentionGradientMemory memory(context, inputs, targets);
    kernels::attention_backward(context.execution(), inputs.problem(),
                                results.outputs(inputs.shape.heads),
                                output_gradient().heads(inputs.shape.heads), memory.views());
    memory.finish(context);
  }
};

void scores_again(const kernels::Execution& execution, const AttentionInputs& inputs,
                  const AttentionResults& results, const kernels::ScoreRequest& request,
                  float* out) {
  kernels::attention_scores(execution, inputs.problem(), request, results.row_max.data<float>(),
                            results.row_sum.data<float>(), out, inputs.shape.keys);
}

// Runs the kernel on complete inputs and shows the observer what it wants.
AttentionResults run(Context& context, const AttentionInputs& inputs, std::string_view place,
                     bool record) {
  const bool keeps_ungated = inputs.gates.defined() && (record || context.observer != nullptr);
  AttentionResults results(context, inputs, keeps_ungated);
  kernels::attention_forward(context.execution(), inputs.problem(),
                             results.outputs(inputs.shape.heads));
  if (context.observer != nullptr) observe_attention(context, place, inputs, results, scores_again);
  return results;
}

}  // namespace

Value attention(Context& context, const Value& query, const Value& key, const Value& value,
                const AttentionOptions& options) {
  AttentionInputs inputs =
      checked_attention("attention", query.data(), key.data(), value.data(), options);
  const Value gates = effective_gates(context, options, inputs.shape.heads);
  set_attention_options(context, "attention", inputs, options, gates);
  const Value& coefficients = options.position_bias.coefficients;
  const bool record =
      recording(context, {&query, &key, &value, &options.bias, &gates, &coefficients});
  const AttentionResults results = run(context, inputs, options.place, record);
  Value output = Value::leaf(results.output);
  if (record) {
    auto node = std::make_unique<AttentionNode>();
    node->inputs = inputs;
    node->results = results;
    node->targets = {query.gradient(),        key.gradient(),   value.gradient(),
                     options.bias.gradient(), gates.gradient(), coefficients.gradient()};
    output = context.tape->record(std::move(node), results.output);
  }
  report(context, [&] {
    return attention_report("attention", inputs, results,
                            {.options = options,
                             .query = query,
                             .key = key,
                             .value = value,
                             .gates = gates,
                             .output = output,
                             .scores = scores_again});
  });
  return output;
}

Tensor cached_attention(Context& context, const Tensor& query, const CachedKeyValues& cache,
                        const AttentionOptions& options) {
  AttentionInputs inputs = checked_attention("attention", query, cache, options);
  const Value gates = effective_gates(context, options, inputs.shape.heads);
  set_attention_options(context, "attention", inputs, options, gates);
  return run(context, inputs, options.place, false).output;
}

}  // namespace headlight::autograd
