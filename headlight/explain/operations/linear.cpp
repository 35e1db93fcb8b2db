// linear: rows times a weight, plus a bias; with its activation as a step of its own.
#include <array>

#include "headlight/explain/operations/operations.h"

namespace headlight::explain {
namespace {

using autograd::Recording;
using tensor::Tensor;

// In places that have one, the formula is the place's.
std::string formula_of(const std::string& name, bool bias) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kPlaces = {
      {{".projected", "attention.projected"},
       {".projected_query", "attention.project"},
       {".projected_key", "attention.project"},
       {".projected_value", "attention.project"},
       {".self.output", "attention.output"},
       {".cross.output", "attention.output"},
       {".ffn.hidden", "ffn.hidden"},
       {".ffn.output", "ffn.output"},
       {".ffn.gate", "ffn.gate"},
       {".ffn.up", "ffn.up"},
       {"prediction.hidden", "prediction.hidden"},
       {"classifier.hidden", "classifier.hidden"},
       {"classifier.logits", "classifier.logits"},
       {"logits", "prediction.logits"}}};
  for (const auto& [ending, formula] : kPlaces) {
    if (name.ends_with(ending)) return std::string(formula) + (bias ? ".bias" : "");
  }
  return bias ? "linear.bias" : "linear";
}

// Outputs [part_begin, part_begin + outputs) of the product, as a tensor of its own.
TracedTensor product_tensor(TraceBuilder& builder, const RecordedStep& step,
                            const std::string& name, int64_t part_begin, int64_t outputs) {
  const Recording::Input& weight = *step.input("weight");
  const Recording::Input* bias = step.input("bias");
  const bool out_in = step.word("layout") == "out_in";
  const std::string input = builder.name_of(*step.input("input"), name);
  TracedTensor tensor{
      .name = name,
      .operation = "linear",
      .operands = {{"input", input}, {"weight", builder.name_of(weight, name)}},
      .attributes = {{"layout", step.word("layout")},
                     {"outputs", outputs},
                     {"weight_begin", part_begin + begin_along(weight.source, out_in ? 0 : 1)}},
      .axes = builder.axes_of(input, name, step.input("input")->value.rank()),
      .formula = formula_of(name, bias != nullptr)};
  if (bias != nullptr) {
    tensor.operands.push_back({"bias", builder.name_of(*bias, name)});
    tensor.set_attribute("bias_begin", part_begin + begin_along(bias->source, 0));
  }
  tensor.axes.back() = name.ends_with("classifier.logits") ? Axis::label
                       : name.ends_with("logits")          ? Axis::vocabulary
                                                           : Axis::column;
  // The output of attention stands beside the merged heads that it is made of.
  tensor.row = row_of(name);
  return tensor;
}

// Of no inputs at all nothing but the bias comes out: so it is where attention has lost its heads.
void put_bias(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  const int64_t result = step.output("output");
  const Recording::Input* bias = step.input("bias");
  const Tensor& numbers = builder.tensor(result);
  TracedTensor tensor{
      .name = name,
      .operation = "repeat",
      .axes = builder.axes_of("", name, numbers.rank()),
      .formula = bias != nullptr ? "attention.output.no_heads.bias" : "attention.output.no_heads",
      .row = row_of(name)};
  if (bias != nullptr) {
    tensor.operands = {{"bias", builder.name_of(*bias, name)}};
    tensor.attributes = {{"bias_begin", begin_along(bias->source, 0)}};
  }
  builder.put(std::move(tensor), numbers, result);
}

void put_linear(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  if (step.input("input")->value.size(-1) == 0) return put_bias(builder, step, name);
  const int64_t result = step.output("output");
  const int64_t hidden = step.output("hidden");
  const Tensor& numbers = builder.tensor(result);
  if (hidden == Recording::kUnknown) {
    builder.put(product_tensor(builder, step, name, 0, numbers.size(-1)), numbers, result);
    return;
  }
  const std::string before = step.report.place.empty() ? name + ".hidden" : step.report.place;
  builder.put(product_tensor(builder, step, before, 0, numbers.size(-1)), builder.tensor(hidden),
              hidden);
  const bool predicts = name.starts_with("prediction.") || name.starts_with("classifier.");
  builder.put({.name = name.empty() ? before + ".activated" : name,
               .operation = "activation",
               .operands = {{"input", builder.full_name(before)}},
               .attributes = {{"function", step.word("activation")}},
               .axes = builder.find(before)->axes,
               .formula = predicts ? "prediction.activation" : "ffn.activation"},
              numbers, result);
}

// A part of the outputs is a product with a part of the weight.
void put_linear_part(TraceBuilder& builder, const RecordedStep& step, const std::string& name,
                     const Recording::Source& part, int64_t width) {
  const Tensor& whole = builder.tensor(step.output("output"));
  const int64_t begin = begin_along(part, whole.rank() - 1);
  builder.put(product_tensor(builder, step, name, begin, width), whole.slice(-1, begin, width));
}

// The rows of the weight that made these outputs, (outputs x inputs) or its transpose.
tensor::ConstMatrixView backward_weight(const GradientFlow& flow, const Tensor& weight) {
  const bool out_in = flow.made.word("layout") == "out_in";
  const Tensor part = weight.slice(
      out_in ? 0 : 1, static_cast<int64_t>(flow.made.number("weight_begin")), flow.made.shape[-1]);
  return out_in ? part.matrix() : part.matrix().transposed();
}

// Y = X W + b:  dX = dY W^T.
Tensor input_gradient(const GradientFlow& flow) {
  if (flow.role != "input" || flow.made.has_attribute("repeat")) return {};
  const Tensor weight = flow.trace.values(*flow.made.operand("weight"));
  Tensor result = Tensor::uninitialized(tensor::DType::f32, flow.operand.shape);
  tensor::Arena arena;
  kernels::matmul({flow.trace.threads(), arena}, flow.gradient.matrix(),
                  backward_weight(flow, weight), result.mutable_matrix());
  return result;
}

// dW[i, o] = sum over positions of X[t, i] dY[t, o];  db[o] = sum of dY[t, o].
std::vector<CellUse> linear_weight_uses(const Trace& /*trace*/, const TracedTensor& made,
                                        std::string_view role, const std::vector<int64_t>& cell) {
  const bool is_bias = role == "bias";
  const bool out_in = made.word("layout") == "out_in";
  const auto begin = static_cast<int64_t>(made.number(is_bias ? "bias_begin" : "weight_begin"));
  const int64_t output = (is_bias || out_in ? cell.front() : cell.back()) - begin;
  std::vector<CellUse> uses;
  if (output < 0 || output >= made.shape[-1]) return uses;
  for (int64_t t = 0; t < made.shape[1]; ++t) {
    CellUse use{.result = {0, t, output}, .key = is_bias ? "bias" : "product"};
    if (!is_bias) {
      use.other_role = "input";
      use.other_index = {0, t, out_in ? cell.back() : cell.front()};
    }
    uses.push_back(std::move(use));
  }
  return uses;
}

// With `repeat` the terms run through all rows of the input, one after the other.
Rule linear_rule() {
  const Expression inputs = size("input", -1);
  const Expression column = remainder(counter(), inputs);
  const Expression output = at(-1) + attribute("weight_begin");
  const Expression out_in = attribute_is("layout", "out_in");
  const CellRule weight = {"weight", {when(out_in, output, column), when(out_in, column, output)}};
  const Expression repeated = !(attribute("repeat", 0.0) == 0.0);
  return {
      .terms = {{.key = "product",
                 .factors = {{"input", {same_row(), column}}, weight},
                 .count = inputs,
                 .present = !repeated},
                {.key = "product",
                 .factors = {{"input", {at(0), whole_quotient(counter(), inputs), column}}, weight},
                 .count = inputs * attribute("repeat"),
                 .present = repeated},
                {.key = "bias",
                 .factors = {{"bias", {at(-1) + attribute("bias_begin")}}},
                 .present = has("bias")}},
      .combinations = {{.key = "sum"}}};
}

// A row of the weight for a column, and the bias forgotten.
Practice linear_practice() {
  const Expression output = at(-1) + attribute("weight_begin");
  const Expression out_in = attribute_is("layout", "out_in");
  const TermRule turned = {
      .key = "product",
      .factors = {{"input", {same_row(), counter()}},
                  {"weight", {when(out_in, counter(), output), when(out_in, output, counter())}}},
      .count = size("input", -1)};
  Rule without_bias = linear_rule();
  without_bias.terms.pop_back();
  return {.mistakes = {{"weight_turned", {.terms = {turned}, .combinations = {{.key = "sum"}}}},
                       {"bias_forgotten", without_bias}}};
}

}  // namespace

void add_linear(OperationTable& table) {
  table.add({.name = "linear",
             .does = "input (..., I), weight, [bias]: rows times the outputs [`weight_begin`, + "
                     "`outputs`) of the weight, plus bias [`bias_begin`, + `outputs`); `layout` "
                     "out_in|in_out. `repeat` n: the weight's inputs n times side by side; the "
                     "input is (B, T, C) read as (B, T*C)",
             .rule = linear_rule(),
             .gradient_text = "linear",
             .gradient = input_gradient,
             .uses = linear_weight_uses});
  table.add({.name = "repeat",
             .does = "[bias]: the bias from `bias_begin` on in each row; zeros without one",
             .rule = {.terms = {{.key = "bias",
                                 .factors = {{"bias", {at(-1) + attribute("bias_begin")}}},
                                 .present = has("bias")}},
                      .combinations = {{.key = "sum"}}},
             .uses = linear_weight_uses});
  table.practices["linear"] = linear_practice();
  table.add(Expansion{.operation = "linear", .put = put_linear, .put_part = put_linear_part});
  for (const char* formula :
       {"linear", "attention.projected", "attention.project", "attention.output",
        "attention.output.no_heads", "ffn.hidden", "ffn.output", "ffn.gate", "ffn.up",
        "prediction.hidden", "prediction.logits", "classifier.hidden", "classifier.logits"}) {
    table.formulas.insert(formula);
    table.formulas.insert(std::string(formula) + ".bias");
  }
}

}  // namespace headlight::explain
