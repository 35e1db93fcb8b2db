// embedding and position_rows: rows of a table, range-checked.
#include "headlight/autograd/ops/embedding.h"

#include <algorithm>
#include <string>
#include <vector>

#include "headlight/autograd/checks.h"
#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::Tensor;

struct EmbeddingNode : Node {
  Tensor ids;
  float scale = 1;
  std::shared_ptr<Gradient> d_table;

  // y[r] = scale * table[ids[r]]:  dtable[ids[r]] += scale * dy[r].
  void backward(Context& context) override {
    Tensor dy = output_gradient();
    if (scale != 1) {
      Tensor scaled = workspace(context);
      kernels::scale(context.execution(), scale, dy.matrix(), scaled.mutable_matrix());
      dy = scaled;
    }
    kernels::embedding_backward(context.execution(), ids.data<int64_t>(), dy.matrix(),
                                d_table->sum(context).mutable_matrix());
  }
};

void check_ids(const Tensor& ids, int64_t rows) {
  const int64_t* values = ids.data<int64_t>();
  for (int64_t i = 0; i < ids.elements(); ++i) {
    if (values[i] >= 0 && values[i] < rows) continue;
    refuse("embedding", "ids",
           "id " + std::to_string(values[i]) + " at position " + std::to_string(i) +
               " is outside the table of " + std::to_string(rows) + " rows");
  }
}

// ids one after the other, each within a table of this shape.
Tensor checked_ids(const Tensor& ids, const tensor::Shape& table) {
  if (table.rank() != 2) {
    refuse("embedding", "table", "shape is " + table.text() + ", rank 2 is needed");
  }
  Tensor adjacent_ids = checked_integers("embedding", "ids", ids);
  check_ids(adjacent_ids, table[0]);
  if (ids.rank() == tensor::Shape::kMaxRank) {
    refuse("embedding", "ids", "shape " + ids.shape().text() + " leaves no axis for the rows");
  }
  return adjacent_ids;
}

// Room for a row of each id.
Tensor rows_of_ids(Context& context, const Tensor& ids, int64_t width) {
  std::vector<int64_t> sizes(ids.shape().sizes().begin(), ids.shape().sizes().end());
  sizes.push_back(width);
  return Tensor::uninitialized(context.arena, tensor::DType::f32, tensor::Shape(sizes));
}

// scale * table[ids], without a word to the observer.
Value looked_up(Context& context, const Tensor& ids, const Value& table, float scale) {
  check_rows("embedding", "table", table.data());
  const Tensor adjacent_ids = checked_ids(ids, table.shape());
  Tensor y = rows_of_ids(context, ids, table.size(1));
  kernels::embedding_forward(context.execution(), table.data().matrix(),
                             adjacent_ids.data<int64_t>(), y.mutable_matrix());
  if (scale != 1) kernels::scale(context.execution(), scale, y.matrix(), y.mutable_matrix());
  Value rows = Value::leaf(y);
  if (recording(context, {&table})) {
    auto node = std::make_unique<EmbeddingNode>();
    node->ids = adjacent_ids;
    node->scale = scale;
    node->d_table = table.gradient();
    rows = context.tape->record(std::move(node), y);
  }
  return rows;
}

Tensor shifted(const Tensor& positions, int64_t start) {
  const Tensor adjacent = checked_integers("position_rows", "positions", positions);
  Tensor rows = Tensor::uninitialized(tensor::DType::i64, positions.shape());
  std::transform(adjacent.data<int64_t>(), adjacent.data<int64_t>() + adjacent.elements(),
                 rows.mutable_data<int64_t>(),
                 [start](int64_t position) { return position + start; });
  return rows;
}

std::vector<Attribute> position_attributes(const PositionRowsOptions& options) {
  std::vector<Attribute> attributes = {{"start", options.start}};
  if (!options.sinusoids) return attributes;
  attributes.push_back({"base", options.sinusoids->base});
  attributes.push_back({"order", options.sinusoids->halves ? "halves" : "interleaved"});
  attributes.push_back({"divisor", options.sinusoids->half_minus_one ? "half_minus_one" : "half"});
  return attributes;
}

}  // namespace

Value embedding(Context& context, const Tensor& ids, const Value& table, float scale) {
  Value rows = looked_up(context, ids, table, scale);
  report(context, [&] {
    return Report{.operation = "embedding",
                  .inputs = {{"ids", Value::leaf(ids)}, {"table", table}},
                  .outputs = {{"output", rows}},
                  .attributes = {{"scale", static_cast<double>(scale)}}};
  });
  return rows;
}

Value copied_embedding(Context& context, const Tensor& ids, const tensor::Shape& table,
                       const CopyRows& copy_rows, float scale) {
  const Tensor adjacent_ids = checked_ids(ids, table);
  Tensor y = rows_of_ids(context, ids, table[1]);
  copy_rows({adjacent_ids.data<int64_t>(), static_cast<size_t>(ids.elements())},
            y.mutable_data<float>());
  if (scale != 1) kernels::scale(context.execution(), scale, y.matrix(), y.mutable_matrix());
  return Value::leaf(y);
}

Value position_rows(Context& context, const Tensor& positions, const Value& table,
                    const PositionRowsOptions& options) {
  const bool from_start = options.sinusoids || options.start == 0;
  Value rows =
      looked_up(context, from_start ? positions : shifted(positions, options.start), table, 1);
  report(context, [&] {
    Report made{.operation = "position_rows",
                .inputs = {{"positions", Value::leaf(positions)}},
                .outputs = {{"output", rows}},
                .attributes = position_attributes(options)};
    if (!options.sinusoids) add_input(made, "table", table);
    return made;
  });
  return rows;
}

}  // namespace headlight::autograd
