// Optimizer over the update kernel: who gets which update, and what is kept between steps.
#include "headlight/optim/optimizer.h"

#include <cmath>

namespace headlight::optim {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Tensor;

void check(const char* name, double value, bool within, const char* range) {
  if (within) return;
  throw Error(ErrorKind::bad_input, "optimizer", name,
              "is " + std::to_string(value) + ", must be " + range);
}

void check(const OptimizerOptions& options) {
  const auto share = [](const char* name, double value) {
    check(name, value, value >= 0 && value < 1, "at least 0 and below 1");
  };
  const auto size = [](const char* name, double value) {
    check(name, value, value >= 0 && std::isfinite(value), "finite and at least 0");
  };
  share("beta1", options.beta1);
  share("beta2", options.beta2);
  share("momentum", options.momentum);
  size("learning_rate", options.learning_rate);
  size("epsilon", options.epsilon);
  size("weight_decay", options.weight_decay);
  size("grad_clip", options.grad_clip);
}

nn::ParameterHandle zeros(const char* kind, const nn::Parameter& parameter,
                          const tensor::Shape& shape) {
  return std::make_shared<nn::Parameter>(std::string(kind) + "." + parameter.name(),
                                         Tensor::zeros(DType::f32, shape));
}

}  // namespace

double clipping_factor(double norm, double limit) {
  constexpr double kMargin = 1e-6;
  return limit > 0 ? std::min(1.0, limit / (norm + kMargin)) : 1.0;
}

bool is_matrix(const nn::Parameter& parameter) { return parameter.shape().rank() >= 2; }

Optimizer::Optimizer(const nn::Parameters& parameters, const OptimizerOptions& options,
                     const Decays& decays)
    : options_(options) {
  check(options);
  const bool sgd = options.kind == OptimizerKind::sgd;
  for (const nn::ParameterHandle& parameter : parameters) {
    const tensor::Shape& shape = parameter->shape();
    Slot slot{.parameter = parameter,
              .weight_decay = decays(*parameter) ? options.weight_decay : 0,
              .step = zeros("step", *parameter, {}),
              .first_moment = zeros(sgd ? "momentum_buffer" : "exp_avg", *parameter, shape),
              .second_moment = sgd ? nullptr : zeros("exp_avg_sq", *parameter, shape)};
    kept_.push_back(slot.step);
    kept_.push_back(slot.first_moment);
    if (!sgd) kept_.push_back(slot.second_moment);
    slots_.push_back(std::move(slot));
  }
}

// Where the numbers are that a step writes; parameters without a step keep their version.
void Optimizer::set_numbers_to_change(const Slot& slot, kernels::ParameterUpdate& update) {
  update.numbers = slot.parameter->change().mutable_data<float>();
  update.first_moment = slot.first_moment->change().mutable_data<float>();
  if (slot.second_moment) {
    update.second_moment = slot.second_moment->change().mutable_data<float>();
  }
  update.step = slot.step->value().item() + 1.0;
}

double Optimizer::step(const kernels::Execution& execution, double learning_rate) {
  std::vector<kernels::ParameterUpdate> updates;
  std::vector<const Slot*> changed;
  for (const Slot& slot : slots_) {
    const Tensor gradient = slot.parameter->grad();
    if (!gradient.defined()) continue;
    updates.push_back({.gradient = gradient.data<float>(),
                       .count = gradient.elements(),
                       .weight_decay = slot.weight_decay});
    changed.push_back(&slot);
  }
  const double norm = kernels::gradient_norm(execution, updates);
  if (!std::isfinite(norm)) return norm;
  for (size_t i = 0; i < changed.size(); ++i) set_numbers_to_change(*changed[i], updates[i]);
  kernels::update_parameters(execution,
                             {.rule = options_.kind,
                              .learning_rate = learning_rate,
                              .beta1 = options_.beta1,
                              .beta2 = options_.beta2,
                              .epsilon = options_.epsilon,
                              .momentum = options_.momentum,
                              .gradient_factor = clipping_factor(norm, options_.grad_clip)},
                             updates);
  for (const Slot* slot : changed) slot->step->change().mutable_data<float>()[0] += 1;
  return norm;
}

void Optimizer::clear_gradients() {
  for (const Slot& slot : slots_) slot.parameter->clear_grad();
}

nn::StateDict Optimizer::state() const { return nn::save_state(kept_); }

void Optimizer::load_state(const nn::StoredState& state) {
  nn::load_state(kept_, state, [](const std::string&, const nn::StoredTensor&) { return false; });
}

}  // namespace headlight::optim
