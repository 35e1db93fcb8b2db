// take_heads: the columns of the heads that pruning has left, or of a projection's pieces that lie
// in turns.
#include "headlight/explain/operations/operations.h"

namespace headlight::explain {
namespace {

using tensor::Tensor;

// Which head of the input the column of a result belongs to, and where it lies in the input.
int64_t taken_column(const Trace& trace, const TracedTensor& made, int64_t whole, int64_t column) {
  const int64_t width = whole / static_cast<int64_t>(made.number("heads"));
  const Tensor taken = trace.values(*made.operand("taken"));
  return taken.data<int64_t>()[column / width] * width + column % width;
}

void put_take_heads(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  const int64_t result = step.output("output");
  const std::string input = builder.name_of(*step.input("input"), name);
  const bool in_turns = input.ends_with(".projected");
  builder.put({.name = name + ".taken",
               .axes = {Axis::column},
               .formula = in_turns ? "attention.turns" : "attention.taken",
               .row = kProjectionRow},
              step.input("taken")->value.data());
  builder.put({.name = name,
               .operation = "take_heads",
               .operands = {{"input", input}, {"taken", builder.full_name(name + ".taken")}},
               .attributes = {{"heads", static_cast<int64_t>(step.number("heads"))}},
               .axes = builder.axes_of(input, name, builder.tensor(result).rank()),
               .formula = in_turns ? "attention.take_turns" : "attention.take_heads",
               .row = kProjectionRow},
              builder.tensor(result), result);
}

Tensor take_heads_gradient(const GradientFlow& flow) {
  if (flow.role != "input") return {};
  Tensor result = Tensor::zeros(tensor::DType::f32, flow.operand.shape);
  const int64_t whole = flow.operand.shape[-1];
  const int64_t width = flow.made.shape[-1];
  for (int64_t column = 0; column < width; ++column) {
    const int64_t from = taken_column(flow.trace, flow.made, whole, column);
    for (int64_t row = 0; row < flow.gradient.elements() / width; ++row) {
      result.mutable_data<float>()[row * whole + from] =
          flow.gradient.data<float>()[row * width + column];
    }
  }
  return result;
}

// A cell of a table that is taken from enters once, or not at all.
std::vector<CellUse> take_heads_uses(const Trace& trace, const TracedTensor& made,
                                     std::string_view role, const std::vector<int64_t>& cell) {
  std::vector<CellUse> uses;
  if (role != "input") return uses;
  const int64_t whole = trace.at(*made.operand("input")).shape[-1];
  for (int64_t column = 0; column < made.shape[-1]; ++column) {
    if (taken_column(trace, made, whole, column) != cell.back()) continue;
    std::vector<int64_t> result = cell;
    result.back() = column;
    uses.push_back({.result = std::move(result)});
  }
  return uses;
}

}  // namespace

void add_take_heads(OperationTable& table) {
  const Expression width = size("input", -1) / attribute("heads");
  table.add(
      {.name = "take_heads",
       .does = "input (..., `heads` * W), taken (n,): the columns of heads taken[0], taken[1], ... "
               "side by side, (..., n * W)",
       .rule = {.ingredients = {{.key = "head",
                                 .cell = CellRule{"taken", {whole_quotient(at(-1), width)}}}},
                .terms = {{.key = "value",
                           .factors = {{"input",
                                        {same_row(),
                                         ingredient("head") * width + remainder(at(-1), width)}}}}},
                .combinations = {{.key = "sum"}}},
       .gradient = take_heads_gradient,
       .uses = take_heads_uses});
  table.add(Expansion{.operation = "take_heads", .put = put_take_heads});
  table.formulas.insert(
      {"attention.take_heads", "attention.taken", "attention.take_turns", "attention.turns"});
}

}  // namespace headlight::explain
