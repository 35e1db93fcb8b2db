// rotate: pairs of columns of each head turned by an angle that grows with the position.
#include <cmath>

#include "headlight/explain/operations/operations.h"

namespace headlight::explain {
namespace {

using autograd::Recording;
using tensor::Tensor;

void put_rotate(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  const int64_t value = step.output("output");
  const Tensor& numbers = builder.tensor(value);
  const std::string input = builder.name_of(*step.input("input"), name);
  // Rates are no tensors of the run's own: one copy per place.
  const std::string rates = name + ".rates";
  builder.put(
      {.name = rates, .axes = {Axis::column}, .formula = "attention.rates", .row = kHeadsRow},
      step.input("rates")->value.data());
  int64_t past = 0;
  if (const Recording::Input* given = step.input("past")) {
    past = given->value.data().contiguous().data<int64_t>()[0];
  }
  builder.put({.name = name,
               .operation = "rotate",
               .operands = {{"input", input}, {"rates", builder.full_name(rates)}},
               .attributes = {{"heads", static_cast<int64_t>(step.number("heads"))},
                              {"interleaved", step.number("interleaved") != 0},
                              {"magnitude", step.number("magnitude", 1)},
                              {"past", past}},
               .axes = builder.axes_of(input, name, numbers.rank()),
               .formula = step.number("interleaved") != 0 ? "attention.rotate.interleaved"
                                                          : "attention.rotate",
               .row = kHeadsRow},
              numbers, value);
}

// Column c of a head and its partner: c and c + R/2, or neighbours.
Rule rotate_rule() {
  const Expression width = size("", -1) / attribute("heads");
  const Expression column = remainder(at(-1), width);
  const Expression pairs = size("rates", 0);
  const Expression interleaved = !(attribute("interleaved") == 0.0);
  const Expression rotated = column < pairs * 2.0;
  const Expression first =
      when(interleaved, remainder(column, Expression(2.0)) == 0.0, column < pairs);
  const Expression step = when(interleaved, 1.0, pairs);
  const Expression pair =
      when(interleaved, whole_quotient(column, Expression(2.0)), remainder(column, pairs));
  const Expression partner = at(-1) + when(first, step, 0.0 - step);
  const Expression angle = ingredient("position") * ingredient("rate");
  const Expression magnitude = attribute("magnitude", 1.0);
  const Expression sine = magnitude * call("sin", {angle});
  return {
      .ingredients = {{.key = "position", .value = at(1) + attribute("past"), .present = rotated},
                      {.key = "rate", .cell = CellRule{"rates", {pair}}, .present = rotated}},
      .terms = {{.key = "value", .factors = {{"input", {same_index()}}}, .present = !rotated},
                {.key = "cosine",
                 .factors = {{"input", {same_index()}}},
                 .constant = magnitude * call("cos", {angle}),
                 .present = rotated},
                {.key = "sine",
                 .factors = {{"input", {same_row(), partner}}},
                 .constant = when(first, 0.0 - sine, sine),
                 .present = rotated}},
      .combinations = {{.key = "sum"}}};
}

// y_a = x_a cos - x_b sin, y_b = x_b cos + x_a sin:  the gradient turns the other way.
Tensor rotate_gradient(const GradientFlow& flow) {
  if (flow.role != "input") return {};
  const Tensor rates = flow.trace.values(*flow.made.operand("rates"));
  const auto heads = static_cast<int64_t>(flow.made.number("heads"));
  const int64_t all = flow.made.shape[-1];
  const int64_t pairs = rates.elements();
  const bool interleaved = flow.made.number("interleaved") != 0;
  const double magnitude = flow.made.number("magnitude", 1);
  Tensor result = Tensor::uninitialized(tensor::DType::f32, flow.operand.shape);
  const float* g = flow.gradient.data<float>();
  float* to = result.mutable_data<float>();
  std::copy_n(g, result.elements(), to);
  for (int64_t row = 0; row < result.elements() / all; ++row) {
    const double position =
        static_cast<double>(row % flow.made.shape[1]) + flow.made.number("past");
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < pairs; ++i) {
        const double angle = position * static_cast<double>(rates.data<float>()[i]);
        const int64_t a = row * all + h * (all / heads) + (interleaved ? 2 * i : i);
        const int64_t b = a + (interleaved ? 1 : pairs);
        const double cosine = magnitude * std::cos(angle);
        const double sine = magnitude * std::sin(angle);
        to[a] = static_cast<float>(g[a] * cosine + g[b] * sine);
        to[b] = static_cast<float>(g[b] * cosine - g[a] * sine);
      }
    }
  }
  return result;
}

}  // namespace

void add_rotate(OperationTable& table) {
  table.add({.name = "rotate",
             .does =
                 "input (B, T, H*D), rates (R/2,): of each of `heads` the first R columns in "
                 "pairs (i, i + R/2), or neighbours when `interleaved`, turned by (t + `past`) * "
                 "rate: x_a cos - x_b sin, x_b cos + x_a sin, times `magnitude`",
             .rule = rotate_rule(),
             .gradient_text = "rotate",
             .gradient = rotate_gradient});
  table.add(Expansion{.operation = "rotate", .put = put_rotate});
  table.formulas.insert({"attention.rotate", "attention.rotate.interleaved", "attention.rates"});
}

}  // namespace headlight::explain
