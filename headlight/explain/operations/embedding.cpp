// embedding and position_rows: rows of a table by id or by position, and sines and cosines.
#include <utility>

#include "headlight/explain/operations/operations.h"

namespace headlight::explain {
namespace {

using tensor::Tensor;

void put_embedding(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  const std::string ids = builder.name_of(*step.input("ids"), name);
  const int64_t value = step.output("output");
  const TracedTensor* traced = builder.trace().find(ids);
  std::vector<Axis> axes =
      traced == nullptr ? std::vector<Axis>{Axis::batch, builder.tokens_of(name)} : traced->axes;
  axes.push_back(Axis::column);
  TracedTensor tensor{
      .name = name,
      .operation = "table",
      .operands = {{"ids", ids}, {"table", builder.name_of(*step.input("table"), name)}},
      .axes = std::move(axes),
      .formula = name.ends_with(".segments") ? "embedding.segments" : "embedding.lookup"};
  // Segments are never scaled.
  if (!name.ends_with(".segments")) tensor.set_attribute("scale", step.number("scale", 1));
  builder.put(std::move(tensor), builder.tensor(value), value);
}

std::string sinusoid_formula(const RecordedStep& step) {
  std::string formula = "positions.sinusoid";
  if (step.word("order") == "halves") formula += ".halves";
  if (step.word("divisor") == "half_minus_one") formula += ".minus_one";
  return formula;
}

bool are_consecutive(const Tensor& positions) {
  const int64_t* numbers = positions.data<int64_t>();
  for (int64_t i = 1; i < positions.elements(); ++i) {
    if (i % positions.size(-1) != 0 && numbers[i] != numbers[i - 1] + 1) return false;
  }
  return true;
}

// The same positions for every sequence: with the batch axis that the rest has.
void put_positions(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  const int64_t value = step.output("output");
  Tensor rows = builder.tensor(value);
  if (rows.rank() == 2) rows = rows.reshaped({1, rows.size(0), rows.size(1)});
  const Tensor& positions = step.input("positions")->value.data();
  const bool consecutive = are_consecutive(positions);
  const auto start = static_cast<int64_t>(step.number("start")) +
                     (consecutive && positions.elements() > 0 ? positions.data<int64_t>()[0] : 0);
  TracedTensor tensor{.name = name,
                      .operation = "table",
                      .attributes = {{"start", start}},
                      .axes = {Axis::batch, builder.tokens_of(name), Axis::column},
                      .formula = "positions.learned"};
  if (step.attribute("base") != nullptr) {
    tensor.operation = "sinusoid";
    tensor.formula = sinusoid_formula(step);
    tensor.set_attribute("base", step.number("base"));
    tensor.set_attribute("order", step.word("order"));
    tensor.set_attribute("divisor", step.word("divisor"));
    tensor.set_attribute("index", "pair");
  } else {
    tensor.operands = {{"table", builder.name_of(*step.input("table"), name)}};
    if (!consecutive) {
      tensor.operands.push_back({"ids", builder.name_of(*step.input("positions"), name)});
    }
  }
  builder.put(std::move(tensor), rows, value);
}

// A row is used each time that its id stands in the text.
std::vector<CellUse> row_uses(const Trace& trace, const TracedTensor& made, std::string_view role,
                              const std::vector<int64_t>& cell) {
  std::vector<CellUse> uses;
  if (role != "table") return uses;
  const std::string* ids = made.operand("ids");
  for (int64_t t = 0; t < made.shape[1]; ++t) {
    const double row =
        (ids == nullptr ? static_cast<double>(t) : trace.value(trace.at(*ids), {0, t})) +
        made.number("start");
    if (static_cast<int64_t>(row) != cell.front()) continue;
    uses.push_back({.result = {0, t, cell.back()}, .constant = made.number("scale", 1)});
  }
  return uses;
}

Rule table_rule() {
  const Expression row = when(has("ids"), ingredient("id"), at(1)) + attribute("start");
  return {.ingredients =
              {{.key = "id", .cell = CellRule{"ids", {at(0), at(1)}}, .present = has("ids")},
               {.key = "position", .value = at(1) + attribute("start"), .present = !has("ids")},
               {.key = "factor",
                .value = attribute("scale", 1.0),
                .present = !(attribute("scale", 1.0) == 1.0)}},
          .terms = {{.key = "value",
                     .factors = {{"table", {row, at(-1)}}},
                     .constant = attribute("scale", 1.0)}},
          .combinations = {{.key = "sum"}}};
}

// Column c belongs to pair i; by column, i is c itself.
Rule sinusoid_rule() {
  const Expression half = size("", -1) / 2.0;
  const Expression halves = attribute_is("order", "halves");
  const Expression sines = whole_quotient(size("", -1) + 1.0, Expression(2.0));
  const Expression pair =
      when(halves, remainder(at(-1), sines), whole_quotient(at(-1), Expression(2.0)));
  const Expression number = when(attribute_is("index", "column"), at(-1), pair);
  const Expression divisor = when(attribute_is("divisor", "half_minus_one"), half - 1.0, half);
  const Expression rate = call("pow", {attribute("base"), (0.0 - number) / divisor});
  const Expression is_sine =
      when(halves, at(-1) < sines, remainder(at(-1), Expression(2.0)) == 0.0);
  const Expression angle = ingredient("position") * ingredient("rate");
  return {.ingredients = {{.key = "position", .value = at(1) + attribute("start")},
                          {.key = "rate", .value = rate}},
          .terms = {{.key = "angle", .value = angle}},
          .combinations = {{.key = "sine",
                            .value = call("sin", {sum()}),
                            .shown = call("sin", {angle}),
                            .present = is_sine,
                            .grows_with_terms = false},
                           {.key = "cosine",
                            .value = call("cos", {sum()}),
                            .shown = call("cos", {angle}),
                            .grows_with_terms = false}}};
}

// The other of sine and cosine; positions counted from 1 (or from 0); the column for the pair.
Practice sinusoid_practice() {
  const Rule right = sinusoid_rule();
  Rule swapped = right;
  std::swap(swapped.combinations[0].value, swapped.combinations[1].value);
  Rule shifted = right;
  shifted.ingredients[0].value = when(attribute("start") == 0.0, at(1) + 1.0, at(1));
  Rule by_column = right;
  by_column.ingredients[1].value =
      call("pow", {attribute("base"), (0.0 - at(-1)) / (size("", -1) / 2.0)});
  return {.mistakes = {{"sine_for_cosine", swapped},
                       {"position_shifted", shifted},
                       {"column_for_pair", by_column}}};
}

// Sines and cosines whose index is the column: a table twice as wide with the base squared has
// them in columns 2c and 2c + 1.
Tensor positions_by_column(const TracedTensor& positions) {
  const int64_t rows = positions.shape[1];
  const int64_t width = positions.shape[2];
  const double base = positions.number("base");
  Tensor both = Tensor::uninitialized(tensor::DType::f32, {rows, 2 * width});
  kernels::sinusoids(
      {.first = static_cast<int64_t>(positions.number("start")), .base = base * base},
      both.mutable_matrix());
  Tensor result = Tensor::uninitialized(tensor::DType::f32, positions.shape);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < width; ++c) {
      result.mutable_data<float>()[r * width + c] =
          both.data<float>()[r * 2 * width + 2 * c + c % 2];
    }
  }
  return result;
}

std::string sinusoid_place(const Trace& /*trace*/, const TracedTensor& tensor) {
  return tensor.operation == "sinusoid" ? tensor.name : "";
}

void build_by_column(VariantBuilder& builder) {
  Trace& trace = builder.trace();
  const TracedTensor& positions = trace.at(builder.place());
  const std::string sum = place_of(builder.place()) + ".sum";
  builder.own("position_index.pair", {builder.place(), sum});
  if (positions.word("order") != "interleaved" || positions.word("divisor") != "half") return;
  if (!builder.begin("position_index.column")) return;
  TracedTensor by_column = builder.again(builder.place());
  by_column.set_attribute("index", "column");
  by_column.formula = "positions.sinusoid.column";
  const Tensor values = positions_by_column(by_column);
  builder.add(std::move(by_column), values);
  tensor::Arena arena;
  autograd::Context context{.threads = trace.threads(), .arena = arena};
  const std::string& embedding = *trace.at(sum).operand("left");
  builder.add(builder.again(sum),
              autograd::add(context, autograd::Value::leaf(trace.values(embedding)),
                            autograd::Value::leaf(values))
                  .data());
  builder.finish(sum);
}

}  // namespace

void add_embedding(OperationTable& table) {
  table.add({.name = "table",
             .does =
                 "ids, table: row ids[b, t] + `start` of the table, times `scale`. Without ids: "
                 "row t + `start` for every sequence",
             .rule = table_rule(),
             .gradient_text = "embedding",
             .uses = row_uses});
  table.add({.name = "sinusoid",
             .does = "sin or cos of position `start` + t times `base`^(-i / divisor); `order` "
                     "interleaved|halves, `divisor` half|half_minus_one, `index` pair|column",
             .rule = sinusoid_rule()});
  table.practices["sinusoid"] = sinusoid_practice();
  table.add(Expansion{.operation = "embedding", .put = put_embedding});
  table.add(Expansion{.operation = "position_rows", .put = put_positions});
  table.variants.push_back({sinusoid_place, build_by_column});
  table.formulas.insert({"embedding.lookup", "embedding.segments", "positions.learned",
                         "positions.sinusoid", "positions.sinusoid.column",
                         "positions.sinusoid.halves", "positions.sinusoid.halves.minus_one",
                         "positions.sinusoid.minus_one"});
}

}  // namespace headlight::explain
