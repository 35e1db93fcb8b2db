// mean_rows: one row for a whole text, one of its rows or the mean of several.
#include "headlight/explain/operations/operations.h"

namespace headlight::explain {
namespace {

using tensor::Tensor;

// The row belongs to no token.
void put_mean_rows(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  const int64_t value = step.output("output");
  const double count = step.number("count");
  builder.put({.name = name,
               .operation = "mean_rows",
               .operands = {{"input", builder.name_of(*step.input("input"), name)}},
               .attributes = {{"first", step.number("first")}, {"count", count}},
               .axes = {Axis::batch, Axis::column, Axis::column},
               .formula = count == 1 ? "classifier.row" : "classifier.mean"},
              builder.tensor(value), value);
}

// y = sum of x[t] / n over n rows:  dx[t] = dy / n.
Tensor mean_rows_gradient(const GradientFlow& flow) {
  Tensor result = Tensor::zeros(tensor::DType::f32, flow.operand.shape);
  const auto first = static_cast<int64_t>(flow.made.number("first"));
  const auto count = static_cast<int64_t>(flow.made.number("count"));
  const int64_t width = flow.operand.shape[-1];
  for (int64_t i = 0; i < count * width; ++i) {
    result.mutable_data<float>()[first * width + i] =
        flow.gradient.data<float>()[i % width] / static_cast<float>(count);
  }
  return result;
}

}  // namespace

void add_mean_rows(OperationTable& table) {
  table.add(
      {.name = "mean_rows",
       .does = "input (1, T, C): the mean of `count` rows from row `first` on, (1, 1, C)",
       .rule = {.terms = {{.key = "value",
                           .factors = {{"input", {at(0), attribute("first") + counter(), at(-1)}}},
                           .count = attribute("count")}},
                .combinations = {{.key = "sum", .present = attribute("count") == 1.0},
                                 {.key = "mean", .value = sum() / attribute("count")}}},
       .gradient_text = "mean_rows",
       .gradient = mean_rows_gradient});
  table.add(Expansion{.operation = "mean_rows", .put = put_mean_rows});
  table.formulas.insert({"classifier.row", "classifier.mean"});
}

}  // namespace headlight::explain
