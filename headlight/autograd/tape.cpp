// Recording, and the walk backwards.
#include "headlight/autograd/tape.h"

#include <algorithm>

#include "headlight/autograd/checks.h"

namespace headlight::autograd {

void Node::pass_on(Context& context, const std::shared_ptr<Gradient>& to, size_t output) const {
  if (!to) return;
  if (alone(output)) {
    to->take(context, output_gradient(output));
  } else {
    to->add(context, output_gradient(output));
  }
}

tensor::Tensor Node::workspace(Context& context, size_t output) const {
  const tensor::Tensor gradient = output_gradient(output);
  if (alone(output)) return gradient;
  return tensor::Tensor::uninitialized(context.arena, tensor::DType::f32, gradient.shape());
}

Value Tape::record(std::unique_ptr<Node> node, tensor::Tensor output) {
  Value value = Value::leaf(std::move(output), true);
  node->outputs_ = {value.gradient()};
  nodes_.push_back(std::move(node));
  return value;
}

std::array<Value, 2> Tape::record(std::unique_ptr<Node> node, tensor::Tensor first,
                                  tensor::Tensor second) {
  std::array<Value, 2> values = {Value::leaf(std::move(first), true),
                                 Value::leaf(std::move(second), true)};
  node->outputs_ = {values[0].gradient(), values[1].gradient()};
  nodes_.push_back(std::move(node));
  return values;
}

void Tape::backward(Context& context, const Value& root, const tensor::Tensor& gradient) {
  if (!root.requires_grad()) refuse("backward", "root", "nothing it depends on wants a gradient");
  if (gradient.defined()) {
    check_same_shape("backward", "gradient", gradient, "root", root.data());
    root.gradient()->add(context, gradient);
  } else {
    if (root.data().elements() != 1) {
      refuse("backward", "root",
             "shape is " + root.shape().text() + ", only a single number needs no gradient");
    }
    *root.gradient()->sum(context).mutable_data<float>() += 1;
  }
  while (!nodes_.empty()) {
    // The node leaves the tape before it runs and is gone after it: with it go the tensors it saved
    // and the gradients of its outputs.
    const std::unique_ptr<Node> node = std::move(nodes_.back());
    nodes_.pop_back();
    const bool reached = std::any_of(node->outputs_.begin(), node->outputs_.end(),
                                     [](const auto& output) { return output->tensor().defined(); });
    if (reached) node->backward(context);
  }
}

void Tape::clear() noexcept {
  while (!nodes_.empty()) nodes_.pop_back();
}

bool recording(const Context& context, std::initializer_list<const Value*> inputs) {
  return context.tape != nullptr &&
         std::any_of(inputs.begin(), inputs.end(),
                     [](const Value* input) { return input->requires_grad(); });
}

}  // namespace headlight::autograd
