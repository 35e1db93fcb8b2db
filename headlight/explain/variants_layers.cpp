// Variants of norms and feed-forward layers.
#include <cmath>
#include <utility>

#include "headlight/explain/variant_builder.h"

namespace headlight::explain {
namespace {

using autograd::Value;
using tensor::Tensor;

// x through a norm's parameters with an epsilon for each row, as deviation, normalized and output.
struct NormedRows {
  Tensor deviation;
  Tensor normalized;
  Tensor output;
};

class RowNorm {
 public:
  RowNorm(const Trace& trace, const std::string& place)
      : trace_(trace), input_(trace.values(place + ".input")) {
    const TracedTensor& output = trace.at(place + ".output");
    weight_ = trace.values(*output.operand("weight"));
    if (const std::string* bias = output.operand("bias")) bias_ = trace.values(*bias);
  }

  int64_t rows() const { return input_.elements() / width(); }
  int64_t width() const { return input_.size(-1); }

  // Population deviations of the rows.
  std::vector<double> deviations() const {
    std::vector<double> all;
    for (int64_t r = 0; r < rows(); ++r) all.push_back(row(r, 0).deviation.data<float>()[0]);
    return all;
  }

  NormedRows normed(const std::vector<double>& epsilons) const {
    const tensor::Shape& shape = input_.shape();
    NormedRows all{Tensor::uninitialized(tensor::DType::f32, {shape[0], shape[1]}),
                   Tensor::uninitialized(tensor::DType::f32, shape),
                   Tensor::uninitialized(tensor::DType::f32, shape)};
    for (int64_t r = 0; r < rows(); ++r) {
      const NormedRows one = row(r, static_cast<float>(epsilons[static_cast<size_t>(r)]));
      all.deviation.data<float>()[r] = one.deviation.data<float>()[0];
      std::copy_n(one.normalized.data<float>(), width(),
                  all.normalized.data<float>() + r * width());
      std::copy_n(one.output.data<float>(), width(), all.output.data<float>() + r * width());
    }
    return all;
  }

 private:
  NormedRows row(int64_t r, float epsilon) const {
    tensor::Arena arena;
    Recording recording;
    autograd::Context context{.threads = trace_.threads(), .arena = arena, .observer = &recording};
    const Tensor x = input_.reshaped({rows(), width()}).slice(0, r, 1);
    autograd::layer_norm(context, Value::leaf(x), Value::leaf(weight_), Value::leaf(bias_),
                         {.epsilon = epsilon, .place = "at"});
    return {recording.find("at.deviation"), recording.find("at.normalized"),
            recording.find("at.output")};
  }

  const Trace& trace_;
  Tensor input_, weight_, bias_;
};

}  // namespace

void VariantBuilder::build_norms() {
  const std::vector<std::string> tensors = {place_ + ".deviation", place_ + ".normalized",
                                            place_ + ".output"};
  const nn::TransformerBlock* in = block();
  if (in != nullptr && in->self_norm()->options().place == place_) build_norm_orders(*in);
  own("epsilon.inside", tensors);
  build_deviation("epsilon.outside", "outside");
  own("deviation.population", tensors);
  if (trace_.at(place_ + ".input").shape[-1] > 1) build_deviation("deviation.sample", "sample");
}

// Either is a layer norm with another epsilon in each row: one that gives the deviation wanted.
void VariantBuilder::build_deviation(const std::string& key, const std::string& attribute) {
  if (!wants(key)) return;
  begin(key);
  const RowNorm norm(trace_, place_);
  TracedTensor deviation = again(place_ + ".deviation");
  const double epsilon = deviation.number("epsilon");
  std::vector<double> epsilons = norm.deviations();
  for (double& number : epsilons) {
    number = attribute == "outside"
                 ? 2 * number * epsilon + epsilon * epsilon
                 : number * number / static_cast<double>(norm.width() - 1) + epsilon;
  }
  const NormedRows rows = norm.normed(epsilons);
  deviation.attributes.emplace_back(attribute, true);
  deviation.formula += "." + attribute;
  add(std::move(deviation), rows.deviation);
  add(again(place_ + ".normalized"), rows.normalized);
  add(again(place_ + ".output"), rows.output);
  finish(place_ + ".output");
}

void VariantBuilder::build_norm_orders(const nn::TransformerBlock& block) {
  const std::string& layer = block.options().place;
  const std::vector<std::string> tensors = {place_ + ".input", place_ + ".mean",
                                            place_ + ".deviation", place_ + ".normalized",
                                            place_ + ".output"};
  if (block.options().norm_place == nn::NormPlace::pre) {
    std::vector<std::string> all = tensors;
    all.push_back(layer + ".self.output");
    all.push_back(layer + ".norm_2.input");
    own("norm.pre", all);
    build_post_norm(block);
  } else {
    own("norm.post", tensors);
    build_pre_norm(block);
  }
}

void VariantBuilder::add_norm(const std::string& place, const Recording& recording) {
  for (const char* name : {".mean", ".deviation", ".normalized", ".output"}) {
    add(again(place + name), recording.find(place + name));
  }
}

// The attention of the layer once more, over another input.
void VariantBuilder::add_attention(const std::string& place, const std::string& input,
                                   const Recording& recording) {
  const std::string original =
      *trace_
           .at(trace_.find(place + ".projected") != nullptr ? place + ".projected"
                                                            : place + ".projected_query")
           .operand("input");
  const auto put = [&](const char* name, bool recorded) {
    if (trace_.find(place + name) == nullptr) return;
    TracedTensor tensor = again(place + name);
    for (Operand& operand : tensor.operands) {
      if (operand.name == original || operand.name == varied(original)) operand.name = input;
    }
    add(std::move(tensor), recorded ? recording.find(place + name) : Tensor());
  };
  for (const char* name : {".projected", ".projected_query", ".query", ".projected_key", ".key",
                           ".projected_value", ".value"}) {
    put(name, true);
  }
  const TracedTensor& mask = trace_.at(place + ".masked_scores");
  const double scale = trace_.at(place + ".scaled_scores").number("factor");
  trace_.add_attention(varied(place), varied(place), static_cast<float>(scale),
                       mask.number("causal") != 0);
  for (const char* name : {".scores", ".scaled_scores", ".masked_scores"}) put(name, false);
  for (const char* name : {".row_max", ".row_sum"}) put(name, true);
  for (const char* name : {".weights", ".weighted_values"}) put(name, false);
  for (const char* name : {".head_output", ".concatenated", ".output"}) put(name, true);
}

// x + self(LayerNorm(x))
void VariantBuilder::build_pre_norm(const nn::TransformerBlock& block) {
  if (!wants("norm.pre")) return;
  begin("norm.pre");
  const std::string& layer = block.options().place;
  const std::string before = layer + ".residual_in";
  tensor::Arena arena;
  Recording recording;
  autograd::Context context{.threads = trace_.threads(), .arena = arena, .observer = &recording};
  const Value x = Value::leaf(trace_.values(before));
  const Value branch = block.self().forward(context, block.self_norm()->forward(context, x),
                                            {.causal = block.options().causal});
  TracedTensor input = again(place_ + ".input");
  input.operation = Operation::copy;
  input.operands = {{"input", before}};
  input.formula = "residual.pass";
  add(std::move(input), x.data());
  add_norm(place_, recording);
  add_attention(layer + ".self", varied(place_ + ".output"), recording);
  TracedTensor sum = trace_.at(place_ + ".input");
  sum.name = varied(place_ + ".residual");
  sum.variant = key_;
  sum.operands = {{"left", varied(layer + ".self.output")}, {"right", before}};
  sum.formula = "residual.add.pre";
  add(std::move(sum), autograd::add(context, branch, x).data());
  finish(place_ + ".output");
}

// LayerNorm(x + self(x))
void VariantBuilder::build_post_norm(const nn::TransformerBlock& block) {
  if (!wants("norm.post")) return;
  begin("norm.post");
  const std::string& layer = block.options().place;
  const std::string before = layer + ".residual_in";
  tensor::Arena arena;
  Recording recording;
  autograd::Context context{.threads = trace_.threads(), .arena = arena, .observer = &recording};
  const Value x = Value::leaf(trace_.values(before));
  const Value branch = block.self().forward(context, x, {.causal = block.options().causal});
  block.self_norm()->forward(context, branch, x);
  add_attention(layer + ".self", before, recording);
  TracedTensor sum = again(place_ + ".input");
  sum.operation = Operation::add;
  sum.operands = {{"left", varied(layer + ".self.output")}, {"right", before}};
  sum.formula = "residual.add";
  add(std::move(sum), recording.find(place_ + ".input"));
  add_norm(place_, recording);
  finish(layer + ".norm_2.input");
}

void VariantBuilder::build_feed_forward(const nn::TransformerBlock& block) {
  nn::Linear::Part part = block.feed_forward().first().part();
  const std::string bias = part.bias ? ".bias" : "";
  own("feed_forward.two", {place_ + ".hidden", place_ + ".activated", place_ + ".output"},
      "variant.feed_forward.two" + bias);
  const int64_t width = trace_.at(place_ + ".output").shape[-1];
  if (part.outputs < width || !wants("feed_forward.one")) return;
  begin("feed_forward.one", "variant.feed_forward.one" + bias);
  part.outputs = width;
  tensor::Arena arena;
  Recording recording;
  autograd::Context context{.threads = trace_.threads(), .arena = arena, .observer = &recording};
  const Value x = Value::leaf(trace_.values(*trace_.at(place_ + ".hidden").operand("input")));
  const Value y = nn::Linear(part, block.feed_forward().options().activation)
                      .forward(context, x, place_ + ".hidden");
  TracedTensor hidden = again(place_ + ".hidden");
  for (io::Json::Member& attribute : hidden.attributes) {
    if (attribute.first == "outputs") attribute.second = width;
  }
  add(std::move(hidden), recording.find(place_ + ".hidden"));
  add(again(place_ + ".activated"), y.data());
  finish(place_ + ".output");
}

}  // namespace headlight::explain
