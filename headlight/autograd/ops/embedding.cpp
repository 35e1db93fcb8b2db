// embedding: rows of a table, range-checked.
#include "headlight/autograd/ops/embedding.h"

#include <string>
#include <vector>

#include "headlight/autograd/checks.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::Tensor;

struct EmbeddingNode : Node {
  Tensor ids;
  std::shared_ptr<Gradient> d_table;

  // y[r] = table[ids[r]]:  dtable[ids[r]] += dy[r].
  void backward(Context& context) override {
    kernels::embedding_backward(context.execution(), ids.data<int64_t>(),
                                output_gradient().matrix(), d_table->sum(context).matrix());
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

}  // namespace

Value embedding(Context& context, const Tensor& ids, const Value& table) {
  check_rows("embedding", "table", table.data());
  if (table.rank() != 2) {
    refuse("embedding", "table", "shape is " + table.shape().text() + ", rank 2 is needed");
  }
  const Tensor adjacent_ids = checked_integers("embedding", "ids", ids);
  check_ids(adjacent_ids, table.size(0));
  if (ids.rank() == tensor::Shape::kMaxRank) {
    refuse("embedding", "ids", "shape " + ids.shape().text() + " leaves no axis for the rows");
  }
  std::vector<int64_t> sizes(ids.shape().sizes().begin(), ids.shape().sizes().end());
  sizes.push_back(table.size(1));
  Tensor y = Tensor::uninitialized(context.arena, tensor::DType::f32, tensor::Shape(sizes));
  kernels::embedding_forward(context.execution(), table.data().matrix(),
                             adjacent_ids.data<int64_t>(), y.matrix());
  if (!recording(context, {&table})) return Value::leaf(y);
  auto node = std::make_unique<EmbeddingNode>();
  node->ids = adjacent_ids;
  node->d_table = table.gradient();
  return context.tape->record(std::move(node), y);
}

}  // namespace headlight::autograd
