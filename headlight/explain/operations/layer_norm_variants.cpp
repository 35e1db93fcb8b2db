// Layer norm where texts disagree: its place in the block, epsilon, and the deviation.
#include <cmath>

#include "headlight/explain/operations/norm.h"

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
      all.deviation.mutable_data<float>()[r] = one.deviation.data<float>()[0];
      std::copy_n(one.normalized.data<float>(), width(),
                  all.normalized.mutable_data<float>() + r * width());
      std::copy_n(one.output.data<float>(), width(),
                  all.output.mutable_data<float>() + r * width());
    }
    return all;
  }

 private:
  NormedRows row(int64_t r, float epsilon) const {
    tensor::Arena arena;
    autograd::Recording recording;
    autograd::Context context{.threads = trace_.threads(), .arena = arena, .observer = &recording};
    const Tensor x = input_.reshaped({rows(), width()}).slice(0, r, 1);
    autograd::layer_norm(context, Value::leaf(x), Value::leaf(weight_), Value::leaf(bias_),
                         {.epsilon = epsilon, .place = "at"});
    const RecordedStep& step = *recording.operation_at("at");
    const auto output = [&](const char* role) { return recording.value(step.output(role)).data(); };
    return {output("deviation"), output("normalized"), output("output")};
  }

  const Trace& trace_;
  Tensor input_, weight_, bias_;
};

// Of norms that have a deviation, over whole rows.
std::string norm_with_deviation(const Trace& trace, const TracedTensor& tensor) {
  const std::string place = place_of(tensor.name);
  const TracedTensor* deviation = trace.find(place + ".deviation");
  return tensor.operation == "scale_shift" && deviation != nullptr &&
                 !deviation->has_attribute("heads")
             ? place
             : "";
}

// Either is a layer norm with another epsilon in each row: one that gives the deviation wanted.
void build_deviation(VariantBuilder& builder, const std::string& key,
                     const std::string& attribute) {
  if (!builder.begin(key)) return;
  const std::string& place = builder.place();
  const RowNorm norm(builder.trace(), place);
  TracedTensor deviation = builder.again(place + ".deviation");
  const double epsilon = deviation.number("epsilon");
  std::vector<double> epsilons = norm.deviations();
  for (double& number : epsilons) {
    number = attribute == "outside"
                 ? 2 * number * epsilon + epsilon * epsilon
                 : number * number / static_cast<double>(norm.width() - 1) + epsilon;
  }
  const NormedRows rows = norm.normed(epsilons);
  deviation.set_attribute(attribute, true);
  deviation.formula += "." + attribute;
  builder.add(std::move(deviation), rows.deviation);
  builder.add(builder.again(place + ".normalized"), rows.normalized);
  builder.add(builder.again(place + ".output"), rows.output);
  builder.finish(place + ".output");
}

// x + self(Norm(x))
void build_pre_norm(VariantBuilder& builder, const nn::TransformerBlock& block) {
  if (!builder.begin("norm.pre")) return;
  const std::string& place = builder.place();
  builder.record({block.options().place + ".residual_in"}, [&](autograd::Context& context,
                                                               const std::vector<Value>& inputs) {
    const Value& x = inputs.front();
    const Value branch = block.self().forward(context, block.self_norm()->forward(context, x),
                                              {.causal = block.options().causal});
    autograd::name_value(context, place, "residual", autograd::add(context, branch, x));
  });
  builder.finish(place + ".output");
}

// Norm(x + self(x))
void build_post_norm(VariantBuilder& builder, const nn::TransformerBlock& block) {
  if (!builder.begin("norm.post")) return;
  const std::string& layer = block.options().place;
  builder.record(
      {layer + ".residual_in"}, [&](autograd::Context& context, const std::vector<Value>& inputs) {
        const Value& x = inputs.front();
        const Value branch = block.self().forward(context, x, {.causal = block.options().causal});
        block.self_norm()->forward(context, branch, x);
      });
  builder.finish(layer + ".norm_2.input");
}

void build_norm_orders(VariantBuilder& builder, const nn::TransformerBlock& block) {
  const std::string& layer = block.options().place;
  std::vector<std::string> tensors;
  for (const char* name : {".input", ".mean", ".deviation", ".normalized", ".output"}) {
    tensors.push_back(builder.place() + name);
  }
  if (block.options().norm_place == nn::NormPlace::pre &&
      block.options().order == nn::SublayerOrder::sequential) {
    tensors.push_back(layer + ".self.output");
    tensors.push_back(layer + ".norm_2.input");
    builder.own("norm.pre", tensors);
    build_post_norm(builder, block);
  } else if (block.options().norm_place == nn::NormPlace::post) {
    builder.own("norm.post", tensors);
    build_pre_norm(builder, block);
  }
}

void build_norms(VariantBuilder& builder) {
  const std::string& place = builder.place();
  const std::vector<std::string> tensors = {place + ".deviation", place + ".normalized",
                                            place + ".output"};
  const nn::TransformerBlock* block = builder.block();
  if (block != nullptr && block->self_norm() && block->self_norm()->options().place == place) {
    build_norm_orders(builder, *block);
  }
  builder.own("epsilon.inside", tensors);
  build_deviation(builder, "epsilon.outside", "outside");
  builder.own("deviation.population", tensors);
  if (builder.trace().at(place + ".input").shape[-1] > 1) {
    build_deviation(builder, "deviation.sample", "sample");
  }
}

}  // namespace

void add_layer_norm_variants(OperationTable& table) {
  table.variants.push_back({norm_with_deviation, build_norms});
}

}  // namespace headlight::explain
