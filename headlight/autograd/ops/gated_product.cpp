// gated_product: one pass forward, one backward; nothing is kept but its inputs.
#include "headlight/autograd/ops/gated_product.h"

#include "headlight/autograd/checks.h"
#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::Tensor;

struct GatedProductNode : Node {
  Tensor gate;
  Tensor up;
  kernels::Activation activation = kernels::Activation::none;
  std::shared_ptr<Gradient> d_gate, d_up;

  // y = f(gate) * up:  dgate += dy * up * f'(gate);  dup += dy * f(gate).
  void backward(Context& context) override {
    kernels::GatedProductGradients gradients;
    if (d_gate) {
      Gradient::Target target = d_gate->target(context);
      gradients.gate = target.tensor.mutable_matrix();
      gradients.accumulate_gate = target.accumulate;
    }
    if (d_up) {
      Gradient::Target target = d_up->target(context);
      gradients.up = target.tensor.mutable_matrix();
      gradients.accumulate_up = target.accumulate;
    }
    kernels::gated_product_backward(context.execution(), activation, gate.matrix(), up.matrix(),
                                    output_gradient().matrix(), gradients);
  }
};

Tensor activated(Context& context, const Tensor& gate, kernels::Activation activation) {
  Tensor result = copy_of(context, gate);
  kernels::activation_forward(context.execution(), activation, result.data<float>(),
                              result.mutable_data<float>(), result.elements());
  return result;
}

void observe_activated(Context& context, const Tensor& gate, kernels::Activation activation,
                       std::string_view place) {
  if (context.observer == nullptr || place.empty()) return;
  const std::string name = place_name(place, "activated");
  if (context.observer->wants(name)) {
    context.observer->see(name, activated(context, gate, activation));
  }
}

}  // namespace

Value gated_product(Context& context, const Value& gate, const Value& up,
                    kernels::Activation activation, std::string_view place) {
  check_rows("gated_product", "gate", gate.data());
  check_rows("gated_product", "up", up.data());
  check_same_shape("gated_product", "up", up.data(), "the gate", gate.data());
  Tensor y = Tensor::uninitialized(context.arena, tensor::DType::f32, gate.shape());
  kernels::gated_product_forward(context.execution(), activation, gate.data().matrix(),
                                 up.data().matrix(), y.mutable_matrix());
  observe_activated(context, gate.data(), activation, place);
  Value result = Value::leaf(y);
  if (recording(context, {&gate, &up})) {
    auto node = std::make_unique<GatedProductNode>();
    node->gate = gate.data();
    node->up = up.data();
    node->activation = activation;
    node->d_gate = gate.gradient();
    node->d_up = up.gradient();
    result = context.tape->record(std::move(node), y);
  }
  report(context, [&] {
    return Report{
        .operation = "gated_product",
        .place = std::string(place),
        .inputs = {{"gate", gate}, {"up", up}},
        .outputs = {{"output", result},
                    {"activated", Value::leaf(activated(context, gate.data(), activation))}},
        .attributes = {{"activation", std::string(name_of(activation))}}};
  });
  return result;
}

}  // namespace headlight::autograd
