// gated_product: one pass forward, one backward; nothing is kept but its inputs.
#include "headlight/autograd/ops/gated_product.h"

#include "headlight/autograd/checks.h"
#include "headlight/autograd/observer.h"
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
      const Gradient::Target target = d_gate->target(context);
      gradients.gate = target.tensor.matrix();
      gradients.accumulate_gate = target.accumulate;
    }
    if (d_up) {
      const Gradient::Target target = d_up->target(context);
      gradients.up = target.tensor.matrix();
      gradients.accumulate_up = target.accumulate;
    }
    kernels::gated_product_backward(context.execution(), activation, gate.matrix(), up.matrix(),
                                    output_gradient().matrix(), gradients);
  }
};

void observe_activated(Context& context, const Tensor& gate, kernels::Activation activation,
                       std::string_view place) {
  if (context.observer == nullptr || place.empty()) return;
  const std::string name = place_name(place, "activated");
  if (!context.observer->wants(name)) return;
  const Tensor activated = copy_of(context, gate);
  kernels::activation_forward(context.execution(), activation, activated.data<float>(),
                              activated.data<float>(), activated.elements());
  context.observer->see(name, activated);
}

}  // namespace

Value gated_product(Context& context, const Value& gate, const Value& up,
                    kernels::Activation activation, std::string_view place) {
  check_rows("gated_product", "gate", gate.data());
  check_rows("gated_product", "up", up.data());
  check_same_shape("gated_product", "up", up.data(), "the gate", gate.data());
  Tensor y = Tensor::uninitialized(context.arena, tensor::DType::f32, gate.shape());
  kernels::gated_product_forward(context.execution(), activation, gate.data().matrix(),
                                 up.data().matrix(), y.matrix());
  observe_activated(context, gate.data(), activation, place);
  if (!recording(context, {&gate, &up})) return Value::leaf(y);
  auto node = std::make_unique<GatedProductNode>();
  node->gate = gate.data();
  node->up = up.data();
  node->activation = activation;
  node->d_gate = gate.gradient();
  node->d_up = up.gradient();
  return context.tape->record(std::move(node), y);
}

}  // namespace headlight::autograd
