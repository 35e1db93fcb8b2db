// Optimizer over the update kernel: who gets which update, and what is kept between steps.
#include "headlight/optim/optimizer.h"

#include <algorithm>
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

int64_t blocks_of(const Part& within) {
  return (within.end - within.first + kernels::kUpdateBlock - 1) / kernels::kUpdateBlock;
}

}  // namespace

double clipping_factor(double norm, double limit) {
  constexpr double kMargin = 1e-6;
  return limit > 0 ? std::min(1.0, limit / (norm + kMargin)) : 1.0;
}

Part part_within(const Part& part, int64_t first, int64_t count) {
  const int64_t begin = std::clamp<int64_t>(part.first - first, 0, count);
  const int64_t end = std::clamp<int64_t>(part.end - first, begin, count);
  return {begin, end};
}

bool is_matrix(const nn::Parameter& parameter) { return parameter.shape().rank() >= 2; }

std::vector<int64_t> part_ends(const nn::Parameters& parameters) {
  std::vector<int64_t> ends;
  int64_t first = 0;
  for (const nn::ParameterHandle& parameter : parameters) {
    const int64_t end = first + parameter->shape().elements();
    while (first < end) ends.push_back(first = std::min(end, first + kernels::kUpdateBlock));
  }
  return ends;
}

Optimizer::Optimizer(const nn::Parameters& parameters, const OptimizerOptions& options,
                     const Decays& decays, const Part& part)
    : options_(options) {
  check(options);
  const bool sgd = options.kind == OptimizerKind::sgd;
  int64_t first = 0;
  for (const nn::ParameterHandle& parameter : parameters) {
    const Part within = part_within(part, first, parameter->shape().elements());
    Slot slot{.parameter = parameter,
              .weight_decay = decays(*parameter) ? options.weight_decay : 0,
              .within = within};
    slot.step =
        std::make_shared<nn::Parameter>("step." + parameter->name(), Tensor::zeros(DType::f32, {}));
    kept_.push_back({slot.step->name(), {}, std::nullopt, {0, 1}, slot.step});
    slot.first_moment = keep(sgd ? "momentum_buffer" : "exp_avg", *parameter, first, within);
    if (!sgd) slot.second_moment = keep("exp_avg_sq", *parameter, first, within);
    slots_.push_back(std::move(slot));
    first += parameter->shape().elements();
  }
}

nn::ParameterHandle Optimizer::keep(const char* kind, const nn::Parameter& parameter, int64_t first,
                                    const Part& within) {
  const int64_t count = within.end - within.first;
  const bool is_whole = count == parameter.shape().elements();
  auto numbers = std::make_shared<nn::Parameter>(
      std::string(kind) + "." + parameter.name(),
      Tensor::zeros(DType::f32, is_whole ? parameter.shape() : tensor::Shape{count}));
  kept_.push_back({numbers->name(), parameter.shape(), first, within, numbers});
  return numbers;
}

// Where the numbers are that a step writes; parameters without a step keep their version.
void Optimizer::set_numbers_to_change(const Slot& slot, kernels::ParameterUpdate& update) {
  update.numbers = slot.parameter->change().mutable_data<float>() + slot.within.first;
  update.first_moment = slot.first_moment->change().mutable_data<float>();
  if (slot.second_moment) {
    update.second_moment = slot.second_moment->change().mutable_data<float>();
  }
  update.step = slot.step->value().item() + 1.0;
}

// Without what a step writes; of no numbers where there is no gradient.
kernels::ParameterUpdate Optimizer::update_of(const Slot& slot) const {
  const Tensor gradient = slot.parameter->grad();
  if (!gradient.defined()) return {};
  return {.gradient = gradient.data<float>() + slot.within.first,
          .count = slot.within.end - slot.within.first,
          .weight_decay = slot.weight_decay};
}

double Optimizer::step(const kernels::Execution& execution, double learning_rate) {
  const double norm = kernels::norm_of(square_sums(execution));
  if (std::isfinite(norm)) change(execution, learning_rate, norm);
  return norm;
}

std::vector<double> Optimizer::square_sums(const kernels::Execution& execution) const {
  std::vector<kernels::ParameterUpdate> updates;
  for (const Slot& slot : slots_) updates.push_back(update_of(slot));
  const std::vector<double> there = kernels::square_sums(execution, updates);
  std::vector<double> sums;
  auto next = there.begin();
  for (size_t i = 0; i < slots_.size(); ++i) {
    const int64_t blocks = blocks_of(slots_[i].within);
    if (updates[i].count == 0) {
      sums.insert(sums.end(), static_cast<size_t>(blocks), 0.0);
    } else {
      sums.insert(sums.end(), next, next + blocks);
      next += blocks;
    }
  }
  return sums;
}

void Optimizer::change(const kernels::Execution& execution, double learning_rate, double norm) {
  std::vector<kernels::ParameterUpdate> updates;
  for (const Slot& slot : slots_) {
    kernels::ParameterUpdate update = update_of(slot);
    if (update.gradient == nullptr) continue;
    set_numbers_to_change(slot, update);
    slot.step->change().mutable_data<float>()[0] += 1;
    updates.push_back(update);
  }
  kernels::update_parameters(execution,
                             {.rule = options_.kind,
                              .learning_rate = learning_rate,
                              .beta1 = options_.beta1,
                              .beta2 = options_.beta2,
                              .epsilon = options_.epsilon,
                              .momentum = options_.momentum,
                              .gradient_factor = clipping_factor(norm, options_.grad_clip)},
                             updates);
}

void Optimizer::clear_gradients() {
  for (const Slot& slot : slots_) slot.parameter->clear_grad();
}

nn::StateDict Optimizer::state() const {
  nn::StateDict state;
  for (const Kept& kept : kept_) state[kept.name] = kept.numbers->value().data();
  return state;
}

void Optimizer::load_state(const nn::StoredState& state) {
  nn::Parameters whole;  // without numbers, for the check of names and shapes
  for (const Kept& kept : kept_)
    whole.push_back(std::make_shared<nn::Parameter>(kept.name, kept.shape));
  nn::check_state(whole, state, [](const std::string&, const nn::StoredTensor&) { return false; });
  for (const Kept& kept : kept_) {
    Tensor numbers = to_float32(state.at(kept.name).load());
    const int64_t count = kept.within.end - kept.within.first;
    if (count < numbers.elements()) {
      Tensor part = Tensor::uninitialized(DType::f32, {count});
      std::copy_n(numbers.data<float>() + kept.within.first, count, part.mutable_data<float>());
      numbers = part;
    }
    kept.numbers->assign(numbers);
  }
}

int64_t Optimizer::all_numbers() const noexcept {
  int64_t count = 0;
  for (const Kept& kept : kept_) count += kept.shape.elements();
  return count;
}

int64_t Optimizer::kept_numbers() const noexcept {
  int64_t count = 0;
  for (const Kept& kept : kept_) count += kept.within.end - kept.within.first;
  return count;
}

}  // namespace headlight::optim
