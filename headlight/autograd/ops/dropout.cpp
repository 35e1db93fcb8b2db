// dropout: the draw is made again in backward, no mask is kept.
#include "headlight/autograd/ops/dropout.h"

#include "headlight/autograd/checks.h"
#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::Tensor;

struct DropoutNode : Node {
  kernels::DropoutDraw draw;
  std::shared_ptr<Gradient> d_x;

  // y = x * keep / (1 - probability):  dx += dy * keep / (1 - probability).
  void backward(Context& context) override {
    Gradient::Target target = d_x->target(context);
    kernels::dropout(context.execution(), draw, output_gradient().matrix(),
                     target.tensor.mutable_matrix(), target.accumulate);
  }
};

}  // namespace

Value dropout(Context& context, const Value& x, float probability, std::string_view place) {
  check_probability("dropout", probability);
  check_rows("dropout", "input", x.data());
  if (!context.training || probability == 0) return x;
  const int64_t sequence_rows =
      x.rank() < 3 || x.size(0) == 0 ? 1 : x.data().matrix().rows / x.size(0);
  const kernels::DropoutDraw draw{.probability = probability,
                                  .key = context.random_key(place),
                                  .first_row = context.random.first_sequence * sequence_rows};
  Tensor y = Tensor::uninitialized(context.arena, tensor::DType::f32, x.shape());
  kernels::dropout(context.execution(), draw, x.data().matrix(), y.mutable_matrix(), false);
  Value result = Value::leaf(y);
  if (recording(context, {&x})) {
    auto node = std::make_unique<DropoutNode>();
    node->draw = draw;
    node->d_x = x.gradient();
    result = context.tape->record(std::move(node), y);
  }
  report(context, [&] {
    return Report{.operation = "dropout",
                  .place = std::string(place),
                  .inputs = {{"input", x}},
                  .outputs = {{"output", result}},
                  .attributes = {{"probability", static_cast<double>(probability)}}};
  });
  return result;
}

}  // namespace headlight::autograd
