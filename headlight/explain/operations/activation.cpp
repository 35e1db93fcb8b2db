// Activations: a function of each number.
#include <cmath>
#include <numbers>

#include "headlight/explain/operations/operations.h"

namespace headlight::explain {
namespace {

using tensor::Tensor;

kernels::Activation activation_of(std::string_view name) {
  for (const kernels::ActivationFacts& facts : kernels::kActivations) {
    if (facts.name == name) return facts.activation;
  }
  return kernels::Activation::none;
}

// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
Expression tanh_gelu(const Expression& x) {
  const Expression inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * (x * x * x));
  return x / 2.0 * (1.0 + call("tanh", {inner}));
}

Expression function_of(const Expression& x) {
  const Expression relu = call("max", {x, 0.0});
  const Expression gelu = x / 2.0 * (1.0 + call("erf", {x / std::numbers::sqrt2}));
  const Expression silu = x / (1.0 + call("exp", {0.0 - x}));
  const auto is = [](const char* name) { return attribute_is("function", name); };
  const Expression others = when(is("silu"), silu, when(is("tanh"), call("tanh", {x}), x));
  return when(is("relu"), relu, when(is("gelu"), gelu, when(is("gelu_new"), tanh_gelu(x), others)));
}

}  // namespace

CombinationRule activation_combination() {
  return {.key = "activation",
          .value = function_of(sum()),
          .shown = Expression("function", {sum()}, "function")};
}

Tensor activation_gradient(const GradientFlow& flow) {
  const Tensor x = flow.trace.values(flow.operand.name);
  Tensor result = Tensor::uninitialized(tensor::DType::f32, flow.operand.shape);
  tensor::Arena arena;
  kernels::activation_backward(
      {flow.trace.threads(), arena}, activation_of(flow.made.word("function")), x.data<float>(),
      flow.gradient.data<float>(), result.mutable_data<float>(), x.elements());
  return result;
}

void add_activation(OperationTable& table) {
  table.add({.name = "activation",
             .does = "input; `function` relu|gelu|gelu_new|silu|tanh",
             .rule = {.terms = {{.key = "value", .factors = {{"input", {same_index()}}}}},
                      .combinations = {activation_combination()}},
             .gradient_text = "activation",
             .gradient = activation_gradient});
  table.practices["activation"] = {
      .mistakes = {{"activation_forgotten",
                    {.terms = {{.key = "value", .factors = {{"input", {same_index()}}}}},
                     .combinations = {{.key = "sum"}}}}}};
  table.formulas.insert({"ffn.activation", "prediction.activation", "ffn.gate.activation"});
}

}  // namespace headlight::explain
