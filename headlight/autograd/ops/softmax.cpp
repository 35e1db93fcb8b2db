// softmax and log_softmax: both go back from their result alone.
#include "headlight/autograd/ops/softmax.h"

#include "headlight/autograd/checks.h"
#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::Tensor;

using Forward = void (*)(const kernels::Execution&, tensor::ConstMatrixView, tensor::MatrixView);
using Backward = void (*)(const kernels::Execution&, tensor::ConstMatrixView,
                          tensor::ConstMatrixView, tensor::MatrixView);

struct SoftmaxNode : Node {
  Tensor y;
  Backward formula = nullptr;
  std::shared_ptr<Gradient> d_x;

  // softmax:      dx += y * (dy - sum(dy * y)).
  // log_softmax:  dx += dy - exp(y) * sum(dy).
  void backward(Context& context) override {
    formula(context.execution(), y.matrix(), output_gradient().matrix(),
            d_x->sum(context).mutable_matrix());
  }
};

Value over_rows(Context& context, const char* operation, const Value& x, Forward forward,
                Backward backward) {
  check_rows(operation, "input", x.data());
  Tensor y = Tensor::uninitialized(context.arena, tensor::DType::f32, x.shape());
  forward(context.execution(), x.data().matrix(), y.mutable_matrix());
  Value result = Value::leaf(y);
  if (recording(context, {&x})) {
    auto node = std::make_unique<SoftmaxNode>();
    node->y = y;
    node->formula = backward;
    node->d_x = x.gradient();
    result = context.tape->record(std::move(node), y);
  }
  report(context, [&] {
    return Report{
        .operation = operation, .inputs = {{"input", x}}, .outputs = {{"output", result}}};
  });
  return result;
}

}  // namespace

Value softmax(Context& context, const Value& x) {
  return over_rows(context, "softmax", x, kernels::softmax_forward, kernels::softmax_backward);
}

Value log_softmax(Context& context, const Value& x) {
  return over_rows(context, "log_softmax", x, kernels::log_softmax_forward,
                   kernels::log_softmax_backward);
}

}  // namespace headlight::autograd
