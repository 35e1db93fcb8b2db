// gated_product: one half of a feed-forward layer opens and closes the other.
#include "headlight/explain/operations/operations.h"

namespace headlight::explain {
namespace {

using autograd::Recording;
using tensor::Tensor;

void put_gated(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  const int64_t value = step.output("output");
  const int64_t opened = step.output("activated");
  const std::string gate = builder.name_of(*step.input("gate"), name);
  const std::string up = builder.name_of(*step.input("up"), name);
  const std::string place = step.report.place.empty() ? name : step.report.place;
  const std::vector<Axis> axes = builder.axes_of(gate, name, builder.tensor(value).rank());
  builder.put({.name = place + ".activated",
               .operation = "activation",
               .operands = {{"input", gate}},
               .attributes = {{"function", step.word("activation")}},
               .axes = axes,
               .formula = "ffn.gate.activation"},
              builder.tensor(opened), opened);
  builder.put({.name = name.empty() ? place + ".gated" : name,
               .operation = "product",
               .operands = {{"left", builder.full_name(place + ".activated")}, {"right", up}},
               .axes = axes,
               .formula = "ffn.gated"},
              builder.tensor(value), value);
}

// y = a b:  da = dy b;  db = dy a.
Tensor product_gradient(const GradientFlow& flow) {
  const Tensor other =
      flow.trace.values(*flow.made.operand(flow.role == "left" ? "right" : "left"));
  Tensor result = Tensor::uninitialized(tensor::DType::f32, flow.operand.shape);
  for (int64_t i = 0; i < result.elements(); ++i) {
    result.mutable_data<float>()[i] = flow.gradient.data<float>()[i] * other.data<float>()[i];
  }
  return result;
}

}  // namespace

void add_gated_product(OperationTable& table) {
  table.add({.name = "product",
             .does = "left, right: their product, number by number",
             .rule = {.terms = {{.key = "product",
                                 .factors = {{"left", {same_index()}}, {"right", {same_index()}}}}},
                      .combinations = {{.key = "sum"}}},
             .gradient_text = "gated",
             .gradient = product_gradient});
  table.add(Expansion{.operation = "gated_product", .put = put_gated});
  table.formulas.insert("ffn.gated");
}

}  // namespace headlight::explain
