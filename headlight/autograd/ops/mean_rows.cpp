// mean_rows: products with a row, or a column, of equal shares.
#include "headlight/autograd/ops/mean_rows.h"

#include <string>

#include "headlight/autograd/checks.h"
#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::Tensor;

std::vector<float> shares_of(const RowRange& range) {
  return std::vector<float>(static_cast<size_t>(range.count), 1 / static_cast<float>(range.count));
}

struct MeanRowsNode : Node {
  std::vector<RowRange> ranges;
  std::shared_ptr<Gradient> d_x;

  // y = sum of x[t] / n over n rows:  dx[t] += dy / n.
  void backward(Context& context) override {
    const Tensor dy = output_gradient();
    Tensor dx = d_x->sum(context);
    for (size_t b = 0; b < ranges.size(); ++b) {
      const auto [first, count] = ranges[b];
      const std::vector<float> shares = shares_of(ranges[b]);
      const auto sequence = static_cast<int64_t>(b);
      Tensor rows = dx.slice(0, sequence, 1).slice(1, first, count);
      kernels::matmul(context.execution(), {shares.data(), count, 1, 1},
                      dy.slice(0, sequence, 1).matrix(), rows.mutable_matrix(),
                      {.accumulate = true});
    }
  }
};

void check_ranges(const Value& x, const std::vector<RowRange>& ranges) {
  check_rows("mean_rows", "input", x.data());
  if (x.rank() != 3 || x.size(0) != std::ssize(ranges)) {
    refuse("mean_rows", "input",
           "shape is " + x.shape().text() + ", (B, T, C) of " + std::to_string(ranges.size()) +
               " sequences is needed");
  }
  for (const auto& [first, count] : ranges) {
    if (first >= 0 && count >= 1 && count <= x.size(1) && first <= x.size(1) - count) continue;
    refuse("mean_rows", "ranges",
           std::to_string(count) + " rows from " + std::to_string(first) + " on are not within " +
               std::to_string(x.size(1)) + " rows");
  }
}

}  // namespace

Value mean_rows(Context& context, const Value& x, const std::vector<RowRange>& ranges) {
  check_ranges(x, ranges);
  Tensor y = Tensor::uninitialized(context.arena, tensor::DType::f32, x.shape().with(1, 1));
  for (size_t b = 0; b < ranges.size(); ++b) {
    const auto [first, count] = ranges[b];
    const std::vector<float> shares = shares_of(ranges[b]);
    const auto sequence = static_cast<int64_t>(b);
    Tensor row = y.slice(0, sequence, 1);
    kernels::matmul(context.execution(), {shares.data(), 1, count, count},
                    x.data().slice(0, sequence, 1).slice(1, first, count).matrix(),
                    row.mutable_matrix());
  }
  Value result = Value::leaf(y);
  if (recording(context, {&x})) {
    auto node = std::make_unique<MeanRowsNode>();
    node->ranges = ranges;
    node->d_x = x.gradient();
    result = context.tape->record(std::move(node), y);
  }
  report(context, [&] {
    // Traces have one sequence.
    const RowRange range = ranges.empty() ? RowRange{} : ranges.front();
    return Report{.operation = "mean_rows",
                  .inputs = {{"input", x}},
                  .outputs = {{"output", result}},
                  .attributes = {{"first", range.first}, {"count", range.count}}};
  });
  return result;
}

}  // namespace headlight::autograd
