// take_heads: rows of a table once more, the heads of all rows being the table.
#include "headlight/autograd/ops/take_heads.h"

#include <string>
#include <utility>

#include "headlight/autograd/checks.h"
#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::Tensor;

struct TakeHeadsNode : Node {
  Tensor places;  // of the heads taken, among those of all rows
  int64_t width = 0;
  tensor::Shape shape;  // of x
  std::shared_ptr<Gradient> d_x;

  // y's head i of a row is x's head taken[i]:  dx[taken[i]] += dy[i].
  void backward(Context& context) override {
    const Tensor dy = output_gradient().contiguous(context.arena);
    Tensor dx = zeros(context, shape);
    Tensor heads = dx.reshaped({shape.elements() / width, width});
    kernels::embedding_backward(context.execution(), places.data<int64_t>(),
                                dy.reshaped({places.elements(), width}).matrix(),
                                heads.mutable_matrix());
    d_x->take(context, std::move(dx));
  }
};

void check_taken(const Value& x, int64_t heads, const Tensor& taken) {
  check_rows("take_heads", "input", x.data());
  if (heads < 1 || x.size(-1) < heads || x.size(-1) % heads != 0) {
    refuse("take_heads", "input",
           "rows of " + std::to_string(x.size(-1)) + " cannot be split into " +
               std::to_string(heads) + " heads");
  }
  if (taken.rank() != 1) {
    refuse("take_heads", "taken", "shape is " + taken.shape().text() + ", rank 1 is needed");
  }
  check_range("take_heads", "taken", taken, 0, heads - 1);
}

// The places of the heads taken among those of all rows.
Tensor places_of(int64_t rows, int64_t heads, const Tensor& taken) {
  const int64_t count = taken.elements();
  Tensor places = Tensor::uninitialized(tensor::DType::i64, {rows, count});
  for (int64_t i = 0; i < rows * count; ++i) {
    places.mutable_data<int64_t>()[i] = i / count * heads + taken.data<int64_t>()[i % count];
  }
  return places;
}

}  // namespace

Value take_heads(Context& context, const Value& x, int64_t heads, const Tensor& given) {
  const Tensor taken = checked_integers("take_heads", "taken", given);
  check_taken(x, heads, taken);
  const int64_t width = x.size(-1) / heads;
  const int64_t rows = x.shape().elements() / x.size(-1);
  const Tensor places = places_of(rows, heads, taken);
  Tensor y = Tensor::uninitialized(context.arena, tensor::DType::f32,
                                   x.shape().with(-1, taken.elements() * width));
  const Tensor table = x.data().contiguous(context.arena).reshaped({rows * heads, width});
  Tensor out = y.reshaped({places.elements(), width});
  kernels::embedding_forward(context.execution(), table.matrix(), places.data<int64_t>(),
                             out.mutable_matrix());
  Value result = Value::leaf(y);
  if (recording(context, {&x})) {
    auto node = std::make_unique<TakeHeadsNode>();
    node->places = places;
    node->width = width;
    node->shape = x.shape();
    node->d_x = x.gradient();
    result = context.tape->record(std::move(node), y);
  }
  report(context, [&] {
    return Report{.operation = "take_heads",
                  .inputs = {{"input", x}, {"taken", Value::leaf(taken)}},
                  .outputs = {{"output", result}},
                  .attributes = {{"heads", heads}}};
  });
  return result;
}

}  // namespace headlight::autograd
