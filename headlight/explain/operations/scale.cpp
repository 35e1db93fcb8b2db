// scale: numbers times a constant.
#include "headlight/explain/operations/operations.h"

namespace headlight::explain {
namespace {

using tensor::Tensor;

void put_scale(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  const int64_t value = step.output("output");
  const Tensor& numbers = builder.tensor(value);
  const std::string input = builder.name_of(step.inputs.front(), name);
  builder.put({.name = name,
               .operation = "scale",
               .operands = {{"input", input}},
               .attributes = {{"factor", step.number("factor")}},
               .axes = builder.axes_of(input, name, numbers.rank()),
               .formula = "scale"},
              numbers, value);
}

Tensor scaled_gradient(const GradientFlow& flow) {
  Tensor result = Tensor::uninitialized(tensor::DType::f32, flow.operand.shape);
  tensor::Arena arena;
  kernels::scale({flow.trace.threads(), arena}, static_cast<float>(flow.made.number("factor")),
                 flow.gradient.matrix(), result.mutable_matrix());
  return result;
}

// The number in the same place times something else.
Rule times(const Expression& constant) {
  return {.terms = {{.key = "value", .factors = {{"input", {same_index()}}}, .constant = constant}},
          .combinations = {{.key = "sum"}}};
}

}  // namespace

void add_scale(OperationTable& table) {
  const Expression factor = attribute("factor");
  table.add({.name = "scale",
             .does = "input times `factor`",
             .rule = {.ingredients = {{.key = "factor", .value = attribute("factor")}},
                      .terms = {{.key = "value",
                                 .factors = {{"input", {same_index()}}},
                                 .constant = attribute("factor")}},
                      .combinations = {{.key = "sum"}}},
             .gradient_text = "scores",
             .gradient = scaled_gradient});
  table.practices["scale"] = {.mistakes = {{"not_scaled", times(1.0)},
                                           {"scaled_by_width", times(factor * factor)},
                                           {"scaled_up", times(1.0 / factor)}}};
  table.add(Expansion{.operation = "scale", .put = put_scale});
  table.formulas.insert("scale");
}

}  // namespace headlight::explain
