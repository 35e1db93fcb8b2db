// Activations of feed-forward layers and heads: their names, what each needs, and their
// derivatives.
#pragma once

#include <string_view>

#include "headlight/kernels/execution.h"

namespace headlight::kernels {

enum class Activation {
  none,
  relu,
  gelu,       // exact: x * Phi(x)
  gelu_tanh,  // GPT-2's approximation, called gelu_new in model folders
  silu,       // x * sigmoid(x)
  tanh,
};

// What must be kept of y = f(x) to find f'(x) later: nothing, y (which activation_backward then
// takes in place of x), or x.
enum class ActivationNeeds { nothing, output, input };

struct ActivationFacts {
  Activation activation;
  std::string_view name;  // as in model folders
  ActivationNeeds backward_needs;
};

// All activations, in the order of the enum: a new one is a line here and its formulas.
inline constexpr ActivationFacts kActivations[] = {
    {Activation::none, "none", ActivationNeeds::nothing},
    {Activation::relu, "relu", ActivationNeeds::output},
    {Activation::gelu, "gelu", ActivationNeeds::input},
    {Activation::gelu_tanh, "gelu_new", ActivationNeeds::input},
    {Activation::silu, "silu", ActivationNeeds::input},
    {Activation::tanh, "tanh", ActivationNeeds::input},
};

constexpr const ActivationFacts& facts_of(Activation activation) {
  return kActivations[static_cast<size_t>(activation)];
}
constexpr std::string_view name_of(Activation activation) { return facts_of(activation).name; }
constexpr ActivationNeeds backward_needs(Activation activation) {
  return facts_of(activation).backward_needs;
}

// y = f(x), `count` adjacent numbers; y may be x.
void activation_forward(const Execution& execution, Activation activation, const float* x, float* y,
                        int64_t count);
// dx = dy * f'(x); dx may be dy.
void activation_backward(const Execution& execution, Activation activation, const float* x,
                         const float* dy, float* dx, int64_t count);

}  // namespace headlight::kernels
