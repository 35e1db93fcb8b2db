// One number's update by each rule, and the norm of gradients, as PyTorch writes them.
#pragma once

#include <cmath>

#include "headlight/kernels/adamw.h"

namespace headlight::kernels::reference {

template <class T>
struct UpdatedNumber {
  T number = 0;
  T first_moment = 0;
  T second_moment = 0;
};

template <class T>
UpdatedNumber<T> update(const UpdateOptions& options, T weight_decay, T step, T gradient,
                        UpdatedNumber<T> at) {
  const T rate = options.learning_rate;
  T g = gradient * T(options.gradient_factor);
  if (options.rule == UpdateRule::adamw) {
    at.number -= rate * weight_decay * at.number;
  } else {
    g += weight_decay * at.number;
  }
  if (options.rule == UpdateRule::sgd) {
    at.first_moment = T(options.momentum) * at.first_moment + g;
    at.number -= rate * at.first_moment;
    return at;
  }
  const T beta1 = options.beta1, beta2 = options.beta2;
  at.first_moment = beta1 * at.first_moment + (1 - beta1) * g;
  at.second_moment = beta2 * at.second_moment + (1 - beta2) * g * g;
  const T first = at.first_moment / (1 - std::pow(beta1, step));
  const T second = at.second_moment / (1 - std::pow(beta2, step));
  at.number -= rate * first / (std::sqrt(second) + T(options.epsilon));
  return at;
}

}  // namespace headlight::kernels::reference
