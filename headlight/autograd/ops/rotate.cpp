// rotate: the same kernel forward and, by the opposite angles, backward.
#include "headlight/autograd/ops/rotate.h"

#include <cmath>
#include <string>

#include "headlight/autograd/checks.h"
#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::Tensor;

struct RotateNode : Node {
  kernels::Rotation rotation;
  Tensor rates;  // which the rotation points to
  Tensor past;
  std::shared_ptr<Gradient> d_x;

  // y = m R x with R orthogonal:  dx += m R^T dy, the rotation by the opposite angles.
  void backward(Context& context) override {
    Gradient::Target target = d_x->target(context);
    kernels::rotate(context.execution(), rotation, output_gradient().matrix(),
                    target.tensor.mutable_matrix(), target.accumulate);
  }
};

void check_rotate(const Value& x, const RotateOptions& options) {
  check_rows("rotate", "input", x.data());
  if (x.rank() != 3) {
    refuse("rotate", "input", "shape is " + x.shape().text() + ", rank 3 is needed");
  }
  if (options.heads < 1 || x.size(2) % options.heads != 0) {
    refuse("rotate", "heads",
           "is " + std::to_string(options.heads) + ", it must divide rows of " +
               std::to_string(x.size(2)));
  }
  const Tensor& rates = options.rates;
  check_type("rotate", "rates", rates, tensor::DType::f32);
  const int64_t width = x.size(2) / options.heads;
  if (rates.rank() != 1 || !rates.is_contiguous() || 2 * rates.elements() > width) {
    refuse("rotate", "rates",
           "shape is " + rates.shape().text() + ", heads have " + std::to_string(width / 2) +
               " pairs of columns");
  }
  if (!std::isfinite(options.magnitude)) {
    refuse("rotate", "magnitude",
           "is " + std::to_string(options.magnitude) + ", it must be finite");
  }
}

Tensor checked_past(const Tensor& given, int64_t batch) {
  if (!given.defined()) return given;
  Tensor past = checked_per_sequence("rotate", "past", given, batch);
  check_range("rotate", "past", past, -kFarthest, kFarthest);
  return past;
}

void observe_rotated(Context& context, const RotateOptions& options, const Tensor& y) {
  if (context.observer == nullptr || options.place.empty()) return;
  if (!context.observer->wants(options.place)) return;
  const int64_t width = y.size(2) / options.heads;
  const Tensor heads = y.reshaped({y.size(0), y.size(1), options.heads, width});
  context.observer->see(options.place, heads.permuted({0, 2, 1, 3}).contiguous(context.arena));
}

}  // namespace

Value rotate(Context& context, const Value& x, const RotateOptions& options) {
  check_rotate(x, options);
  const Tensor past = checked_past(options.past, x.size(0));
  kernels::Rotation rotation{.rates = options.rates.data<float>(),
                             .pairs = options.rates.elements(),
                             .heads = options.heads,
                             .sequence_rows = x.size(1),
                             .past = past.defined() ? past.data<int64_t>() : nullptr,
                             .interleaved = options.interleaved,
                             .magnitude = options.magnitude};
  Tensor y = Tensor::uninitialized(context.arena, tensor::DType::f32, x.shape());
  kernels::rotate(context.execution(), rotation, x.data().matrix(), y.mutable_matrix(), false);
  observe_rotated(context, options, y);
  Value result = Value::leaf(y);
  if (recording(context, {&x})) {
    auto node = std::make_unique<RotateNode>();
    rotation.backwards = true;
    node->rotation = rotation;
    node->rates = options.rates;
    node->past = past;
    node->d_x = x.gradient();
    result = context.tape->record(std::move(node), y);
  }
  report(context, [&] {
    Report made{.operation = "rotate",
                .inputs = {{"input", x}, {"rates", Value::leaf(options.rates)}},
                .outputs = {{"output", result}},
                .attributes = {{"heads", options.heads},
                               {"interleaved", options.interleaved},
                               {"magnitude", static_cast<double>(options.magnitude)}}};
    add_input(made, "past", past);
    return made;
  });
  return result;
}

}  // namespace headlight::autograd
