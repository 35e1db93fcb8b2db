// add: alpha * a + b, with b repeated over a's leading axes where it has fewer.
#include "headlight/autograd/ops/add.h"

#include <algorithm>
#include <string>

#include "headlight/autograd/checks.h"
#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::MatrixView;
using tensor::Tensor;

// Rows [index * rows, (index + 1) * rows) of a matrix.
template <class T>
tensor::Matrix<T> block_of(const tensor::Matrix<T>& whole, int64_t index, int64_t rows) {
  return {whole.data + index * rows * whole.row_stride, rows, whole.cols, whole.row_stride, 1};
}

// The end of `shape` with `rank` axes is `end`.
bool ends_with(const tensor::Shape& shape, const tensor::Shape& end) {
  return end.rank() <= shape.rank() &&
         std::equal(end.sizes().rbegin(), end.sizes().rend(), shape.sizes().rbegin());
}

struct AddNode : Node {
  float alpha = 1;
  int64_t repeats = 1;
  std::shared_ptr<Gradient> d_a, d_b;

  // y = alpha * a + b:  da += alpha * dy;  db += dy, summed over the axes b does not have.
  void backward(Context& context) override {
    const Tensor dy = output_gradient();
    if (d_b) add_to_second(context, dy);
    if (d_a && alpha == 1) {
      pass_on(context, d_a);
    } else if (d_a) {
      const MatrixView da = d_a->sum(context).mutable_matrix();
      kernels::add(context.execution(), alpha, dy.matrix(), da, da);
    }
  }

  void add_to_second(Context& context, const Tensor& dy) const {
    const MatrixView db = d_b->sum(context).mutable_matrix();
    for (int64_t i = 0; i < repeats; ++i) {
      kernels::add(context.execution(), 1, block_of(dy.matrix(), i, db.rows), db, db);
    }
  }
};

}  // namespace

Value add(Context& context, const Value& a, const Value& b, float alpha) {
  check_rows("add", "first", a.data());
  check_rows("add", "second", b.data());
  if (!ends_with(a.shape(), b.shape())) {
    refuse("add", "second", "shape is " + b.shape().text() + ", the first is " + a.shape().text());
  }
  Tensor y = Tensor::uninitialized(context.arena, tensor::DType::f32, a.shape());
  const tensor::ConstMatrixView b_rows = b.data().matrix();
  const int64_t repeats =
      a.shape() == b.shape() ? 1 : a.data().matrix().rows / std::max<int64_t>(b_rows.rows, 1);
  for (int64_t i = 0; i < repeats; ++i) {
    kernels::add(context.execution(), alpha, block_of(a.data().matrix(), i, b_rows.rows), b_rows,
                 block_of(y.mutable_matrix(), i, b_rows.rows));
  }
  Value sum = Value::leaf(y);
  if (recording(context, {&a, &b})) {
    auto node = std::make_unique<AddNode>();
    node->alpha = alpha;
    node->repeats = repeats;
    node->d_a = a.gradient();
    node->d_b = b.gradient();
    sum = context.tape->record(std::move(node), y);
  }
  report(context, [&] {
    return Report{.operation = "add",
                  .inputs = {{"left", a}, {"right", b}},
                  .outputs = {{"output", sum}},
                  .attributes = {{"alpha", static_cast<double>(alpha)}}};
  });
  return sum;
}

}  // namespace headlight::autograd
