// Linear layers where texts disagree: one layer in the feed-forward, all rows in one prediction.
#include "headlight/explain/operations/operations.h"
#include "headlight/explain/row_statistics.h"

namespace headlight::explain {
namespace {

using autograd::Value;
using tensor::Tensor;

std::string feed_forward_place(const Trace& trace, const TracedTensor& tensor) {
  const std::string place = place_of(tensor.name);
  const bool is_output = tensor.name.ends_with(".ffn.output");
  return is_output && trace.find(place + ".hidden") != nullptr ? place : "";
}

// f(x W + b) with the first C outputs of the first layer.
void build_one_layer(VariantBuilder& builder) {
  const nn::TransformerBlock* block = builder.block();
  if (block == nullptr) return;
  Trace& trace = builder.trace();
  const std::string& place = builder.place();
  nn::Linear::Part part = block->feed_forward().first().part();
  const std::string bias = part.bias ? ".bias" : "";
  builder.own("feed_forward.two", {place + ".hidden", place + ".activated", place + ".output"},
              "variant.feed_forward.two" + bias);
  const int64_t width = trace.at(place + ".output").shape[-1];
  if (part.outputs < width) return;
  if (!builder.begin("feed_forward.one", "variant.feed_forward.one" + bias)) return;
  part.outputs = width;
  const nn::Linear layer(part, block->feed_forward().options().activation);
  builder.record({*trace.at(place + ".hidden").operand("input")},
                 [&](autograd::Context& context, const std::vector<Value>& inputs) {
                   const Value y = layer.forward(context, inputs.front(), place + ".hidden");
                   autograd::name_value(context, place, "activated", y);
                 });
  builder.finish(place + ".output");
}

std::string prediction_place(const Trace& trace, const TracedTensor& tensor) {
  return tensor.name == "logits" && tensor.operation == "linear" &&
                 trace.find("probabilities") != nullptr
             ? "logits"
             : "";
}

// All rows side by side, times the output layer's weight for each.
Tensor flattened_logits(const Trace& trace, const nn::Linear::Part& part) {
  const Tensor rows = trace.values(*trace.at("logits").operand("input"));
  Tensor logits = Tensor::zeros(tensor::DType::f32, {1, part.outputs});
  tensor::Arena arena;
  for (int64_t t = 0; t < rows.size(1); ++t) {
    const bool last = t + 1 == rows.size(1);
    kernels::matmul(
        {trace.threads(), arena}, rows.slice(1, t, 1).matrix(),
        autograd::forward_operand(part.weight->value().data(), part.layout),
        logits.mutable_matrix(),
        {.accumulate = true,
         .bias = last && part.bias ? part.bias->value().data().data<float>() : nullptr});
  }
  return logits;
}

void build_flattened(VariantBuilder& builder) {
  const std::vector<std::string> names = {"logits", "logits.row_max", "logits.row_sum",
                                          "probabilities"};
  const nn::OutputLayer* output = builder.model().parts().output;
  if (output == nullptr) return;
  const nn::Linear::Part& part = output->linear().part();
  const std::string bias = part.bias ? ".bias" : "";
  builder.own("prediction.per_position", names, "prediction.logits" + bias);
  if (!builder.begin("prediction.flattened", "prediction.logits.flattened" + bias)) return;
  Trace& trace = builder.trace();
  const Tensor logits = flattened_logits(trace, part);
  const RowStatistics statistics = row_statistics(logits);
  tensor::Arena arena;
  autograd::Context context{.threads = trace.threads(), .arena = arena};
  const Tensor values[] = {logits, statistics.maximum, statistics.sum,
                           autograd::softmax(context, Value::leaf(logits)).data()};
  for (size_t i = 0; i < names.size(); ++i) {
    TracedTensor tensor = builder.again(names[i]);
    tensor.axes.erase(tensor.axes.begin() + 1);  // all tokens at once
    if (i == 0) {
      tensor.set_attribute("repeat", trace.at(*tensor.operand("input")).shape[1]);
      tensor.formula = builder.formula();
    }
    builder.add(std::move(tensor), values[i]);
  }
  builder.finish("probabilities");
}

}  // namespace

void add_linear_variants(OperationTable& table) {
  table.variants.push_back({feed_forward_place, build_one_layer});
  table.variants.push_back({prediction_place, build_flattened});
  table.formulas.insert({"prediction.logits.flattened", "prediction.logits.flattened.bias"});
}

}  // namespace headlight::explain
