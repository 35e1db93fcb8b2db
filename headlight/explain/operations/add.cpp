// add: sums, and the residual connections made of them.
#include "headlight/explain/operations/operations.h"

namespace headlight::explain {
namespace {

using autograd::Recording;
using tensor::Tensor;

bool is_addend(const Recording::Input& input) {
  return input.role == "left" || input.role == "right" || input.role == "input" ||
         input.role == "residual";
}

// The operands of a sum of sums that nobody named: all of them, in the order in which they are
// added.
void collect(TraceBuilder& builder, const RecordedStep& step, const std::string& name,
             std::vector<Operand>& operands, std::vector<int64_t>& values) {
  for (const Recording::Input& input : step.inputs) {
    if (!is_addend(input)) continue;
    const RecordedStep* maker = builder.unnamed_maker(input.source);
    if (maker != nullptr && maker->report.operation == "add" && maker->number("alpha", 1) == 1) {
      collect(builder, *maker, name, operands, values);
      continue;
    }
    const char* role = operands.empty() ? "left" : operands.size() == 1 ? "right" : "more";
    operands.push_back({role, builder.name_of(input, name)});
    values.push_back(input.source.value);
  }
}

// Whether the branch was made of the stream by way of a norm: x + Sublayer(Norm(x)).
bool passes_norm(const Trace& trace, const std::string& branch, const std::string& stream) {
  std::vector<std::pair<std::string, bool>> open = {{branch, false}};
  std::set<std::pair<std::string, bool>> seen;
  while (!open.empty()) {
    const auto [name, normed] = open.back();
    open.pop_back();
    const TracedTensor* tensor = trace.find(name);
    if (tensor == nullptr || tensor->is_parameter() || !seen.insert({name, normed}).second)
      continue;
    if (name == stream) {
      if (normed) return true;
      continue;
    }
    const bool is_norm = tensor->operation == "scale_shift";
    for (const Operand& operand : tensor->operands)
      open.push_back({operand.name, normed || is_norm});
  }
  return false;
}

}  // namespace

void put_sum(TraceBuilder& builder, const RecordedStep& step, const std::string& name,
             int64_t value) {
  std::vector<Operand> operands;
  std::vector<int64_t> values;
  collect(builder, step, name, operands, values);
  // What was summed up before is the same number.
  const int64_t same = builder.same_sum(values, value);
  if (same != Recording::kUnknown) {
    const Recording::Input known{"input", {same}, builder.recording().value(same)};
    return builder.put_copy(name, builder.name_of(known, name), value);
  }
  const bool is_embedding = name.ends_with(".sum");
  // Of what was left out nothing is known but that it was passed on.
  const bool is_whole =
      std::ranges::none_of(operands, [](const Operand& one) { return one.name.empty(); });
  const bool pre = !is_embedding && operands.size() > 1 &&
                   passes_norm(builder.trace(), operands.front().name, operands.back().name);
  const Tensor& numbers = builder.tensor(value);
  TracedTensor tensor{.name = name,
                      .operation = "add",
                      .operands = operands,
                      .axes = builder.axes_of(operands[0].name, name, numbers.rank()),
                      .formula = !is_whole      ? "residual.pass"
                                 : is_embedding ? "embedding.sum"
                                 : pre          ? "residual.add.pre"
                                                : "residual.add"};
  if (step.number("alpha", 1) != 1) tensor.set_attribute("alpha", step.number("alpha", 1));
  builder.put(std::move(tensor), numbers, value);
}

namespace {

// One row, (1, C) where it comes from, that is added to every row.
bool adds_row(const TraceBuilder& builder, const RecordedStep& step) {
  const Recording::Input* right = step.input("right");
  return right != nullptr && right->value.rank() == 1 &&
         builder.tensor(step.output("output")).rank() > 1;
}

void put_add(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  const int64_t value = step.output("output");
  if (!adds_row(builder, step)) return put_sum(builder, step, name, value);
  const Tensor& numbers = builder.tensor(value);
  const std::string left = builder.name_of(*step.input("left"), name);
  builder.put({.name = name,
               .operation = "add_row",
               .operands = {{"left", left}, {"right", builder.name_of(*step.input("right"), name)}},
               .axes = builder.axes_of(left, name, numbers.rank()),
               .formula = "prediction.constant"},
              numbers, value);
}

// The row's own is what all rows give together.
Tensor row_gradient(const GradientFlow& flow) {
  if (flow.role == "left") return flow.gradient;
  Tensor result = Tensor::zeros(tensor::DType::f32, flow.operand.shape);
  const int64_t width = result.elements();
  for (int64_t i = 0; i < flow.gradient.elements(); ++i) {
    result.mutable_data<float>()[i % width] += flow.gradient.data<float>()[i];
  }
  return result;
}

std::vector<CellUse> added_row_uses(const Trace& /*trace*/, const TracedTensor& made,
                                    std::string_view role, const std::vector<int64_t>& cell) {
  std::vector<CellUse> uses;
  if (role != "right") return uses;
  for (int64_t t = 0; t < made.shape[1]; ++t) uses.push_back({.result = {0, t, cell.back()}});
  return uses;
}

Tensor sum_gradient(const GradientFlow& flow) {
  if (flow.operand.shape != flow.made.shape) return {};
  const double alpha = flow.role == "left" ? flow.made.number("alpha", 1) : 1;
  if (alpha == 1) return flow.gradient;
  Tensor result = Tensor::uninitialized(tensor::DType::f32, flow.operand.shape);
  tensor::Arena arena;
  kernels::scale({flow.trace.threads(), arena}, static_cast<float>(alpha), flow.gradient.matrix(),
                 result.mutable_matrix());
  return result;
}

// Everything that comes back to a sum goes on to what was added.
Tensor sum_moved(const Tensor& gradient, const TracedTensor& made) {
  return gradient.shape() == made.shape && !made.has_attribute("alpha") ? gradient : Tensor();
}

}  // namespace

void add_add(OperationTable& table) {
  table.add({.name = "add",
             .does = "left, right, [more, ...]: their sum; left times `alpha` where it is given",
             .rule = {.terms = {{.key = "value",
                                 .factors = {{"", {same_index()}}},
                                 .count = size("operands", 0),
                                 .constant = when(counter() == 0.0, attribute("alpha", 1.0), 1.0)}},
                      .combinations = {{.key = "sum"}}},
             .gradient_text = "residual",
             .gradient = sum_gradient,
             .moved = sum_moved});
  table.add({.name = "add_row",
             .does = "left, right (1, C): right added to every row of left",
             .rule = {.terms = {{.key = "value", .factors = {{"left", {same_index()}}}},
                                {.key = "value", .factors = {{"right", {0.0, at(-1)}}}}},
                      .combinations = {{.key = "sum"}}},
             .gradient_text = "residual",
             .gradient = row_gradient,
             .uses = added_row_uses});
  table.practices["add"] = {};
  table.add(Expansion{.operation = "add", .put = put_add});
  table.formulas.insert(
      {"embedding.sum", "residual.add", "residual.add.pre", "prediction.constant"});
}

}  // namespace headlight::explain
