// scale: alpha * x.
#include "headlight/autograd/ops/scale.h"

#include "headlight/autograd/checks.h"
#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::MatrixView;
using tensor::Tensor;

struct ScaleNode : Node {
  float alpha = 1;
  std::shared_ptr<Gradient> d_x;

  // y = alpha * x:  dx += alpha * dy.
  void backward(Context& context) override {
    const MatrixView dx = d_x->sum(context).mutable_matrix();
    kernels::add(context.execution(), alpha, output_gradient().matrix(), dx, dx);
  }
};

}  // namespace

Value scale(Context& context, const Value& x, float alpha) {
  check_rows("scale", "input", x.data());
  Tensor y = Tensor::uninitialized(context.arena, tensor::DType::f32, x.shape());
  kernels::scale(context.execution(), alpha, x.data().matrix(), y.mutable_matrix());
  Value scaled = Value::leaf(y);
  if (recording(context, {&x})) {
    auto node = std::make_unique<ScaleNode>();
    node->alpha = alpha;
    node->d_x = x.gradient();
    scaled = context.tape->record(std::move(node), y);
  }
  report(context, [&] {
    return Report{.operation = "scale",
                  .inputs = {{"input", x}},
                  .outputs = {{"output", scaled}},
                  .attributes = {{"factor", static_cast<double>(alpha)}}};
  });
  return scaled;
}

}  // namespace headlight::autograd
