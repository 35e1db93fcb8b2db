// Attention with another scale: from scaled scores on, computed once more.
#include <cmath>

#include "headlight/explain/operations/attention.h"

namespace headlight::explain {
namespace {

using autograd::Value;

std::string attention_place(const Trace& /*trace*/, const TracedTensor& tensor) {
  return tensor.operation == "scores" ? place_of(tensor.name) : "";
}

tensor::Tensor as_truth(const tensor::Tensor& numbers) {
  tensor::Tensor truth = tensor::Tensor::uninitialized(tensor::DType::boolean, numbers.shape());
  std::transform(numbers.data<float>(), numbers.data<float>() + numbers.elements(),
                 truth.mutable_data<bool>(), [](float number) { return number != 0; });
  return truth;
}

// The masks and biases of the run, as its tensors tell.
autograd::AttentionOptions options_of(const Trace& trace, const std::string& place) {
  const TracedTensor& masked = trace.at(place + ".masked_scores");
  autograd::AttentionOptions options{.causal = masked.number("causal") != 0,
                                     .window = static_cast<int64_t>(masked.number("window")),
                                     .place = place};
  if (masked.has_attribute("past")) {
    options.past =
        tensor::Tensor::of({1}, std::vector<int64_t>{static_cast<int64_t>(masked.number("past"))});
  }
  if (const std::string* name = masked.operand("keep_mask"))
    options.keep_mask = as_truth(trace.values(*name));
  if (const std::string* name = masked.operand("forbid_mask")) {
    options.forbid_mask = as_truth(trace.values(*name));
  }
  if (const std::string* name = masked.operand("bias")) {
    options.bias = Value::leaf(trace.values(*name));
  }
  if (const std::string* name = masked.operand("position_bias")) {
    options.bias = Value::leaf(trace.values(*name));
  }
  const TracedTensor* capped = trace.find(place + ".capped_scores");
  if (capped != nullptr) options.softcap = static_cast<float>(capped->number("cap"));
  return options;
}

// What the run's tensors say of heads that were pruned; original is 0 where none was.
autograd::PrunedHeads pruned_heads(const Trace& trace, const std::string& place) {
  const TracedTensor& query = trace.at(place + ".query");
  const TracedTensor& key = trace.at(place + ".key");
  if (query.head_numbers.empty()) return {};
  const auto list = [](const std::vector<int64_t>& numbers) {
    return tensor::Tensor::of({static_cast<int64_t>(numbers.size())}, numbers);
  };
  autograd::PrunedHeads pruned{.original = query.original_heads,
                               .numbers = list(query.head_numbers),
                               .kv_original = key.original_heads,
                               .kv_numbers = list(key.head_numbers)};
  if (trace.find(place + ".kv_head_of") != nullptr) {
    pruned.kv_head_of = trace.values(place + ".kv_head_of");
  }
  return pruned;
}

// The tensors from scaled scores to head outputs, under the names that they have in the run.
std::vector<std::string> stages_of(const Trace& trace, const std::string& place) {
  std::vector<std::string> stages;
  for (const char* stage : {".scaled_scores", ".capped_scores", ".masked_scores", ".row_max",
                            ".row_sum", ".weights", ".weighted_values", ".head_output"}) {
    if (trace.find(place + stage) != nullptr) stages.push_back(place + stage);
  }
  return stages;
}

void put_scaled(TraceBuilder& builder, const RecordedStep& step, const VariantBuilder& variant,
                const std::string& place) {
  const TracedTensor& scores = builder.trace().at(place + ".scores");
  const TracedTensor& value = builder.trace().at(place + ".value");
  builder.number_heads({scores.head_numbers, scores.original_heads});
  put_weights(builder, {.step = step,
                        .place = place,
                        .scores = scores.name,
                        .value = value.name,
                        .scale_formula = variant.formula(),
                        .axes = scores.axes,
                        .value_width = value.shape[-1]});
  TracedTensor output = builder.trace().at(place + ".head_output");
  output.operands = {{"input", builder.full_name(place + ".weighted_values")}};
  builder.put(std::move(output), builder.tensor(step.output("output")));
}

void build_scales(VariantBuilder& builder) {
  Trace& trace = builder.trace();
  const std::string& place = builder.place();
  const auto head_width = static_cast<double>(trace.at(place + ".query").shape[-1]);
  const double factor = trace.at(place + ".scaled_scores").number("factor");
  // Only of a model that scales as the paper does there is something to compare.
  if (std::abs(factor - 1 / std::sqrt(head_width)) > 1e-6) return;
  builder.own("scale.sqrt_head_width", stages_of(trace, place), "attention.scale");
  const auto width = static_cast<float>(trace.at(place + ".output").shape[-1]);
  const std::pair<const char*, float> scales[] = {
      {"scale.sqrt_width", 1 / std::sqrt(width)}, {"scale.width", 1 / width}, {"scale.none", 1.0F}};
  for (const auto& [key, scale] : scales) {
    if (!builder.begin(key, "attention." + std::string(key))) continue;
    autograd::AttentionOptions options = options_of(trace, place);
    const autograd::PrunedHeads pruned = pruned_heads(trace, place);
    if (pruned.original > 0) options.pruned = &pruned;
    options.scale = scale;
    builder.record(
        {place + ".query", place + ".key", place + ".value"},
        [&options](autograd::Context& context, const std::vector<Value>& inputs) {
          autograd::attention(context, inputs[0], inputs[1], inputs[2], options);
        },
        [&builder, &place](TraceBuilder& to, const RecordedStep& step) {
          put_scaled(to, step, builder, place);
        });
    builder.finish(place + ".head_output");
  }
}

}  // namespace

void add_attention_variants(OperationTable& table) {
  table.variants.push_back({attention_place, build_scales});
  table.formulas.insert(
      {"attention.scale.sqrt_width", "attention.scale.width", "attention.scale.none"});
}

}  // namespace headlight::explain
