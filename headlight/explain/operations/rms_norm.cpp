// rms_norm and residual_rms_norm: rows over their root mean square, then the weight.
#include "headlight/explain/operations/norm.h"

namespace headlight::explain {
namespace {

void put_rms_norm(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  const std::string p = norm_place(step, name);
  const NormRows rows = put_norm_input(builder, step, p);
  TracedTensor root{.name = p + ".root_mean_square",
                    .operation = "root_mean_square",
                    .operands = {{"input", rows.input}},
                    .attributes = {{"epsilon", step.number("epsilon")}},
                    .axes = statistic_axes(step, rows),
                    .formula = "norm.root_mean_square"};
  set_heads(step, root);
  builder.put(root, builder.tensor(step.output("root_mean_square")));
  TracedTensor normalized{.name = p + ".normalized",
                          .operation = "normalize",
                          .operands = {{"input", rows.input},
                                       {"deviation", builder.full_name(p + ".root_mean_square")}},
                          .axes = rows.axes,
                          .formula = "norm.normalize.root"};
  set_heads(step, normalized);
  builder.put(normalized, builder.tensor(step.output("normalized")));
  put_norm_output(builder, step, p, rows);
}

}  // namespace

void add_rms_norm(OperationTable& table) {
  const Expression mean = sum() / ingredient("count");
  table.add({.name = "root_mean_square",
             .does =
                 "input: sqrt(sum x^2 / n + epsilon) over the last axis, or over each of `heads` "
                 "equal parts of it; `epsilon`",
             .rule = row_statistic(
                 {.ingredients = {{.key = "epsilon", .value = attribute("epsilon")}},
                  .terms = {{.key = "own_square", .value = factor(0) * factor(0)}},
                  .combinations = {
                      {.key = "root", .value = call("sqrt", {mean + ingredient("epsilon")})}}})});
  table.add(Expansion{.operation = "rms_norm", .put = put_rms_norm});
  table.add(Expansion{.operation = "residual_rms_norm", .put = put_rms_norm});
  table.formulas.insert({"norm.root_mean_square", "norm.normalize.root"});
}

}  // namespace headlight::explain
