// Activations as the formulas have them.
#pragma once

#include <cmath>
#include <numbers>

#include "headlight/kernels/activation.h"

namespace headlight::kernels::reference {

// GPT-2's tanh(sqrt(2 / pi) * (x + 0.044715 x^3)).
template <class T>
T gelu_tanh_inner(T x) {
  return std::tanh(std::sqrt(T(2) / std::numbers::pi_v<T>) * (x + T(0.044715) * x * x * x));
}

template <class T>
T activate(Activation activation, T x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x < 0 ? T(0) : x;
    case Activation::gelu:
      return x * std::erfc(-x / std::numbers::sqrt2_v<T>) / 2;
    case Activation::gelu_tanh:
      return x * (1 + gelu_tanh_inner(x)) / 2;
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
  }
  return x;
}

// f'(x). GELU: Phi(x) + x phi(x). With t = tanh(u(x)): (1 + t) / 2 + x (1 - t^2) u'(x) / 2. SiLU,
// with s = 1 / (1 + exp(-x)): s + x s (1 - s).
template <class T>
T activation_slope(Activation activation, T x) {
  switch (activation) {
    case Activation::none:
      return 1;
    case Activation::relu:
      return x > 0 ? T(1) : T(0);
    case Activation::gelu:
      return std::erfc(-x / std::numbers::sqrt2_v<T>) / 2 +
             x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<T>);
    case Activation::gelu_tanh: {
      const T t = gelu_tanh_inner(x);
      const T inner_slope = std::sqrt(T(2) / std::numbers::pi_v<T>) * (1 + 3 * T(0.044715) * x * x);
      return (1 + t) / 2 + x * (1 - t * t) * inner_slope / 2;
    }
    case Activation::silu: {
      const T s = 1 / (1 + std::exp(-x));
      return s + x * s * (1 - s);
    }
    case Activation::tanh:
      return 1 - std::tanh(x) * std::tanh(x);
  }
  return 1;
}

template <class T>
void activation_forward(Activation activation, const T* x, T* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = activate(activation, x[i]);
}

// dx = dy * f'(x).
template <class T>
void activation_backward(Activation activation, const T* x, const T* dy, T* dx, int64_t count) {
  for (int64_t i = 0; i < count; ++i) dx[i] = dy[i] * activation_slope(activation, x[i]);
}

}  // namespace headlight::kernels::reference
