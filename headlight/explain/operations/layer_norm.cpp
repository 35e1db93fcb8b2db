// layer_norm and residual_norm: rows to mean 0 and deviation 1, then weight and bias.
#include "headlight/explain/operations/norm.h"
#include "headlight/explain/tensor_index.h"

namespace headlight::explain {
namespace {

using autograd::Recording;
using tensor::Tensor;

void put_norm(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  const std::string p = norm_place(step, name);
  const NormRows rows = put_norm_input(builder, step, p);
  const std::string mean = builder.full_name(p + ".mean");
  TracedTensor tensor{.name = p + ".mean",
                      .operation = "mean",
                      .operands = {{"input", rows.input}},
                      .axes = statistic_axes(step, rows),
                      .formula = "norm.mean"};
  set_heads(step, tensor);
  builder.put(tensor, builder.tensor(step.output("mean")));
  tensor.name = p + ".deviation";
  tensor.operation = "deviation";
  tensor.operands.push_back({"mean", mean});
  tensor.set_attribute("epsilon", step.number("epsilon"));
  tensor.formula = "norm.deviation";
  builder.put(tensor, builder.tensor(step.output("deviation")));
  tensor = {.name = p + ".normalized",
            .operation = "normalize",
            .operands = {{"input", rows.input},
                         {"mean", mean},
                         {"deviation", builder.full_name(p + ".deviation")}},
            .axes = rows.axes,
            .formula = "norm.normalize"};
  set_heads(step, tensor);
  builder.put(tensor, builder.tensor(step.output("normalized")));
  put_norm_output(builder, step, p, rows);
}

Expression root_of(const Expression& mean) {
  const Expression epsilon = ingredient("epsilon");
  return when(attribute("outside") == 0.0, call("sqrt", {mean + epsilon}),
              call("sqrt", {mean}) + epsilon);
}

// dx = (g - mean(g) - n mean(g n)) / deviation.
Tensor normalize_gradient(const GradientFlow& flow) {
  if (flow.role != "input") return {};
  const Tensor normalized = flow.trace.values(flow.made.name);
  const Tensor deviation = flow.trace.values(*flow.made.operand("deviation"));
  Tensor result = Tensor::uninitialized(tensor::DType::f32, flow.operand.shape);
  const int64_t width = flow.made.shape[-1] / static_cast<int64_t>(flow.made.number("heads", 1));
  for (int64_t row = 0; row < result.elements() / width; ++row) {
    const float* g = flow.gradient.data<float>() + row * width;
    const float* n = normalized.data<float>() + row * width;
    double mean = 0;
    double along = 0;
    for (int64_t c = 0; c < width; ++c) {
      mean += g[c] / static_cast<double>(width);
      along += static_cast<double>(g[c]) * n[c] / static_cast<double>(width);
    }
    // Without a mean to take away nothing comes back by it.
    if (flow.made.operand("mean") == nullptr) mean = 0;
    for (int64_t c = 0; c < width; ++c) {
      result.mutable_data<float>()[row * width + c] =
          static_cast<float>((g[c] - mean - n[c] * along) / deviation.data<float>()[row]);
    }
  }
  return result;
}

// y = n (offset + weight) + bias:  dn = dy (offset + weight).
Tensor scale_gradient(const GradientFlow& flow) {
  if (flow.role != "input") return {};
  const Tensor weight = flow.trace.values(*flow.made.operand("weight"));
  const auto offset = static_cast<float>(flow.made.number("offset"));
  Tensor result = Tensor::uninitialized(tensor::DType::f32, flow.operand.shape);
  for (int64_t i = 0; i < result.elements(); ++i) {
    result.mutable_data<float>()[i] =
        flow.gradient.data<float>()[i] * (offset + weight.data<float>()[i % weight.elements()]);
  }
  return result;
}

// dweight[c] = sum of n[t, c] dy[t, c];  dbias[c] = sum of dy[t, c].
std::vector<CellUse> norm_weight_uses(const Trace& trace, const TracedTensor& made,
                                      std::string_view role, const std::vector<int64_t>& cell) {
  std::vector<CellUse> uses;
  const int64_t width = trace.at(*made.operand("weight")).shape[0];
  const int64_t rows = made.shape.elements() / made.shape[-1];
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int64_t> at = index_at(made.shape, row * made.shape[-1]);
    for (int64_t column = cell.front(); column < made.shape[-1]; column += width) {
      at.back() = column;
      CellUse use{.result = at, .key = role == "bias" ? "bias" : "product"};
      if (role != "bias") {
        use.other_role = "input";
        use.other_index = at;
      }
      uses.push_back(std::move(use));
    }
  }
  return uses;
}

void add_statistics(OperationTable& table) {
  table.add({.name = "mean",
             .does = "input: over the last axis, or over each of `heads` equal parts of it",
             .rule = row_statistic(
                 {.terms = {{.key = "value"}},
                  .combinations = {{.key = "mean", .value = sum() / ingredient("count")}}})});
  const Expression apart = factor(0) - ingredient("mean");
  table.add(
      {.name = "deviation",
       .does = "input, mean: sqrt(sum (x - mean)^2 / n + epsilon); `epsilon`; `sample`: n - 1 "
               "in place of n; `outside`: sqrt(sum / n) + epsilon; `heads` as for the mean",
       .rule = row_statistic(
           {.ingredients = {{.key = "mean", .cell = CellRule{"mean", {same_index()}}},
                            {.key = "epsilon", .value = attribute("epsilon")}},
            .terms = {{.key = "square", .value = apart * apart}},
            .combinations = {{.key = "root", .value = root_of(sum() / ingredient("count"))}}})});
}

}  // namespace

Expression in_heads() { return Expression(1.0) < attribute("heads", 1.0); }

Expression head_of_column() {
  return whole_quotient(at(-1), size("", -1) / attribute("heads", 1.0));
}

Rule row_statistic(Rule rule) {
  const Expression width = size("input", -1) / attribute("heads", 1.0);
  rule.ingredients.push_back({.key = "count", .value = width - attribute("sample")});
  TermRule term = rule.terms.front();
  term.count = width;
  term.factors = {{"input", {same_index(), counter()}}};
  term.present = !in_heads();
  TermRule of_head = term;
  of_head.factors = {{"input", {same_row(), at(-1) * width + counter()}}};
  of_head.present = in_heads();
  rule.terms = {term, of_head};
  return rule;
}

std::pair<IngredientRule, IngredientRule> statistic_ingredients(const std::string& role) {
  return {
      {.key = role, .cell = CellRule{role, {same_row()}}, .present = !in_heads()},
      {.key = role, .cell = CellRule{role, {same_row(), head_of_column()}}, .present = in_heads()}};
}

std::vector<Axis> statistic_axes(const RecordedStep& step, const NormRows& rows) {
  std::vector<Axis> axes = without_last(rows.axes);
  if (step.number("heads", 1) > 1) axes.push_back(Axis::head);
  return axes;
}

void set_heads(const RecordedStep& step, TracedTensor& tensor) {
  const double heads = step.number("heads", 1);
  if (heads > 1) tensor.set_attribute("heads", static_cast<int64_t>(heads));
}

std::string norm_place(const RecordedStep& step, const std::string& name) {
  return step.report.place.empty() ? name : step.report.place;
}

NormRows put_norm_input(TraceBuilder& builder, const RecordedStep& step, const std::string& place) {
  const std::string name = place + ".input";
  const int64_t sum = step.output("sum");
  if (sum == Recording::kUnknown) {
    const Recording::Input& input = *step.input("input");
    // What the stream is called from here on, where it gets a name.
    const std::string next = builder.next_name(input.source.value);
    std::string from = builder.name_of(input, place);
    if (!next.empty() && !from.empty()) {
      builder.put_copy(next, from, input.source.value);
      from = builder.full_name(next);
    }
    const auto& numbers = input.value.data();
    const std::vector<Axis> axes = builder.axes_of(from, name, numbers.rank());
    const TracedTensor* source = from.empty() ? nullptr : builder.trace().find(from);
    const bool reshaped = source != nullptr && source->shape != numbers.shape();
    builder.put({.name = name,
                 .operation = reshaped ? "reshape" : "copy",
                 .operands = {{"input", from}},
                 .axes = axes,
                 .formula = reshaped ? "reshape" : "residual.pass"},
                numbers, reshaped ? Recording::kUnknown : input.source.value);
    return {builder.full_name(name), axes};
  }
  const std::string given = builder.next_name(sum);
  if (!given.empty()) {
    put_sum(builder, step, given, sum);
    builder.put_copy(name, builder.full_name(given), sum);
  } else {
    put_sum(builder, step, name, sum);
  }
  return {builder.full_name(name), builder.find(name)->axes};
}

void put_norm_output(TraceBuilder& builder, const RecordedStep& step, const std::string& place,
                     const NormRows& rows) {
  const int64_t value = step.output("output");
  TracedTensor tensor{.name = place + ".output",
                      .operation = "scale_shift",
                      .operands = {{"input", builder.full_name(place + ".normalized")},
                                   {"weight", builder.name_of(*step.input("weight"), place)}},
                      .axes = rows.axes,
                      .formula = "norm.scale_shift"};
  if (const Recording::Input* bias = step.input("bias")) {
    tensor.operands.push_back({"bias", builder.name_of(*bias, place)});
    tensor.formula += ".bias";
  }
  if (const double offset = step.number("weight_offset"); offset != 0) {
    tensor.set_attribute("offset", offset);
    tensor.formula += ".offset";
  }
  builder.put(std::move(tensor), builder.tensor(value), value);
}

void add_layer_norm(OperationTable& table) {
  add_statistics(table);
  const auto [whole_deviation, head_deviation] = statistic_ingredients("deviation");
  table.add(
      {.name = "normalize",
       .does = "input, [mean], deviation: (x - mean) / deviation; `heads` as for the mean",
       .rule = {.ingredients = {whole_deviation, head_deviation},
                .terms = {{.key = "value", .factors = {{"input", {same_index()}}}},
                          {.key = "minus_mean",
                           .factors = {{"mean", {same_row()}}},
                           .value = 0.0 - factor(0),
                           .present = has("mean") && !in_heads()},
                          {.key = "minus_mean",
                           .factors = {{"mean", {same_row(), head_of_column()}}},
                           .value = 0.0 - factor(0),
                           .present = has("mean") && in_heads()}},
                .combinations = {{.key = "quotient", .value = sum() / ingredient("deviation")}}},
       .gradient_text = "norm",
       .gradient = normalize_gradient});
  const CellRule weight = {"weight", {remainder(at(-1), size("weight", 0))}};
  const CellRule bias = {"bias", {remainder(at(-1), size("weight", 0))}};
  table.add({.name = "scale_shift",
             .does = "input, weight, [bias]: input * (`offset` + weight) + bias",
             .rule = {.terms = {{.key = "product", .factors = {{"input", {same_index()}}, weight}},
                                {.key = "value",
                                 .factors = {{"input", {same_index()}}},
                                 .constant = attribute("offset"),
                                 .present = !(attribute("offset") == 0.0)},
                                {.key = "bias", .factors = {bias}, .present = has("bias")}},
                      .combinations = {{.key = "sum"}}},
             .gradient_text = "norm",
             .gradient = scale_gradient,
             .uses = norm_weight_uses});
  table.add(Expansion{.operation = "layer_norm", .put = put_norm});
  table.add(Expansion{.operation = "residual_norm", .put = put_norm});
  table.formulas.insert({"norm.mean", "norm.deviation", "norm.deviation.outside",
                         "norm.deviation.sample", "norm.normalize", "norm.scale_shift",
                         "norm.scale_shift.bias", "norm.scale_shift.offset",
                         "norm.scale_shift.bias.offset"});
}

}  // namespace headlight::explain
