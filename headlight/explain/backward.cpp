// One training step on a model that is put back afterwards, with everything on the way.
#include "headlight/explain/backward.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "headlight/explain/gradients.h"
#include "headlight/explain/tensor_index.h"
#include "headlight/explain/trace_builder.h"

namespace headlight::explain {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Tensor;

[[noreturn]] void refuse_walk(const std::string& where, const std::string& why) {
  throw Error(ErrorKind::bad_input, "backward walk", where, why);
}

[[noreturn]] void refuse_without_target() {
  refuse_walk("target", "there is none: without it there is no error to learn from");
}

Tensor copy_of(const Tensor& tensor) {
  Tensor copy = Tensor::uninitialized(tensor.dtype(), tensor.shape());
  std::memcpy(copy.mutable_raw(), tensor.raw(), tensor.bytes());
  return copy;
}

// Restores the numbers of parameters when it goes.
class ParameterRestorer {
 public:
  explicit ParameterRestorer(nn::Parameters parameters) : parameters_(std::move(parameters)) {
    for (const nn::ParameterHandle& parameter : parameters_) {
      parameter->clear_grad();
      numbers_.push_back(copy_of(parameter->value().data()));
    }
  }
  ParameterRestorer(const ParameterRestorer&) = delete;
  ParameterRestorer& operator=(const ParameterRestorer&) = delete;
  ~ParameterRestorer() {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      std::memcpy(parameters_[i]->change().mutable_raw(), numbers_[i].raw(), numbers_[i].bytes());
      parameters_[i]->clear_grad();
    }
  }

 private:
  nn::Parameters parameters_;
  std::vector<Tensor> numbers_;
};

// Clears gradients when it goes: they belong to nobody else.
class GradientCleaner {
 public:
  explicit GradientCleaner(nn::Parameters parameters) : parameters_(std::move(parameters)) {
    clear();
  }
  GradientCleaner(const GradientCleaner&) = delete;
  GradientCleaner& operator=(const GradientCleaner&) = delete;
  ~GradientCleaner() { clear(); }

 private:
  void clear() const {
    for (const nn::ParameterHandle& parameter : parameters_) parameter->clear_grad();
  }
  nn::Parameters parameters_;
};

// Tensors that depend on the parameter, the last first.
std::vector<std::string> path_to(const Trace& trace, const std::string& parameter) {
  std::set<std::string> depending = {parameter};
  std::vector<std::string> path;
  for (const TracedTensor& tensor : trace.tensors()) {
    if (!tensor.variant.empty()) continue;
    const bool depends = std::any_of(
        tensor.operands.begin(), tensor.operands.end(),
        [&depending](const Operand& operand) { return depending.contains(operand.name); });
    if (!depends) continue;
    depending.insert(tensor.name);
    path.push_back(tensor.name);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

class Walk {
 public:
  Walk(const Trace& trace, models::Model& model, const CellReference& weight,
       const BackwardOptions& options)
      : trace_(trace), model_(model), options_(options), parameters_(model.parameters()) {
    result_.weight = weight;
    check();
    parameter_ = *std::find_if(
        parameters_.begin(), parameters_.end(),
        [&weight](const nn::ParameterHandle& each) { return each->name() == weight.name; });
    offset_ = offset_of(parameter_->shape(), weight.index);
  }

  BackwardWalk made() {
    const ParameterRestorer restorer(parameters_);
    result_.value = number(parameter_->value().data());
    walk_back();
    update();
    tensor::Arena arena;
    autograd::Context context{.threads = trace_.threads(), .arena = arena};
    result_.new_loss = model_.loss(context, trace_.input().batch).item();
    return std::move(result_);
  }

 private:
  float number(const Tensor& tensor) const { return tensor.data<float>()[offset_]; }

  void check() const {
    const TracedTensor& tensor = trace_.at(result_.weight.name);
    if (!tensor.is_parameter()) {
      refuse_walk(tensor.name, "is no parameter: only what is learned is changed");
    }
    if (!trace_.input().batch.targets.defined()) refuse_without_target();
    if (options_.optimizer.kind != optim::OptimizerKind::adamw) {
      refuse_walk("optimizer", "only adamw's steps are shown");
    }
  }

  // p - y of rows that have a target, and their number.
  void compare_with_targets() {
    const Tensor targets = trace_.input().batch.targets;
    Tensor error = copy_of(trace_.values("probabilities"));
    const int64_t width = error.size(-1);
    for (int64_t row = 0; row < targets.elements(); ++row) {
      float* numbers = error.mutable_data<float>() + row * width;
      const int64_t target = targets.data<int64_t>()[row];
      if (target < 0) {
        std::fill_n(numbers, width, 0.0F);
      } else {
        numbers[target] -= 1;
        ++result_.target_count;
      }
    }
    if (result_.target_count == 0) refuse_walk("target", "none of the ids is known");
    result_.error = error;
  }

  void walk_back() {
    compare_with_targets();
    tensor::Arena arena;
    autograd::Tape tape;
    autograd::Recording recording;
    autograd::Context context{
        .threads = trace_.threads(), .arena = arena, .tape = &tape, .observer = &recording};
    const autograd::Value loss = model_.loss(context, trace_.input().batch);
    result_.loss = loss.item();
    tape.backward(context, loss);

    Tensor logits = copy_of(result_.error);
    kernels::scale(context.execution(), 1 / static_cast<float>(result_.target_count),
                   logits.matrix(), logits.mutable_matrix());
    Gradients gradients(trace_, held_values(recording), logits);
    for (const std::string& name : path_to(trace_, result_.weight.name)) {
      const Tensor gradient = gradients.at(name);
      if (gradient.defined()) result_.gradients.push_back({name, gradient});
    }
    const Tensor gradient = parameter_->grad();
    result_.gradient = gradient.defined() ? number(gradient) : 0;
    result_.terms = gradients.weight_terms(result_.weight);
  }

  // The values of this run by the names that they have in the trace.
  std::map<std::string, autograd::Value> held_values(const autograd::Recording& recording) const {
    Trace same(trace_.threads(), trace_.input(), {});
    TraceBuilder builder(same, recording);
    builder.build();
    // A sum that is normed by the same operation holds what its other uses gave alone; what was
    // added to the stream there holds all of it.
    std::map<int64_t, autograd::Value> added;
    for (const RecordedStep& step : recording.steps()) {
      if (step.output("sum") != autograd::Recording::kUnknown) {
        added[step.output("sum")] = step.input("input")->value;
      }
    }
    std::map<std::string, autograd::Value> held;
    for (const auto& [name, value] : builder.values()) {
      held[name] = added.contains(value) ? added[value] : recording.value(value);
    }
    return held;
  }

  void update() {
    optim::Optimizer optimizer(parameters_, options_.optimizer);
    if (!options_.optimizer_state.empty()) {
      nn::StateDict state;
      for (const auto& [name, tensor] : options_.optimizer_state) state[name] = copy_of(tensor);
      optimizer.load_state(state);
    }
    const std::string& name = result_.weight.name;
    WeightUpdate& u = result_.update;
    u.first_moment_before = number(optimizer.state().at("exp_avg." + name));
    u.second_moment_before = number(optimizer.state().at("exp_avg_sq." + name));
    tensor::Arena arena;
    u.gradient_norm = optimizer.step({trace_.threads(), arena});
    if (!std::isfinite(u.gradient_norm)) {
      throw Error(ErrorKind::failed, "backward walk", "gradients", "are not finite");
    }
    u.step = static_cast<int64_t>(optimizer.state().at("step." + name).data<float>()[0]);
    u.first_moment = number(optimizer.state().at("exp_avg." + name));
    u.second_moment = number(optimizer.state().at("exp_avg_sq." + name));
    u.new_value = number(parameter_->value().data());
    fill_in(u);
  }

  // What the optimizer computed on the way, by its own formulas.
  void fill_in(WeightUpdate& u) const {
    const optim::OptimizerOptions& o = options_.optimizer;
    u.clip_limit = o.grad_clip;
    u.clip_factor = optim::clipping_factor(u.gradient_norm, o.grad_clip);
    u.clipped_gradient = result_.gradient * u.clip_factor;
    const auto step = static_cast<double>(u.step);
    u.first_corrected = u.first_moment / (1 - std::pow(o.beta1, step));
    u.second_corrected = u.second_moment / (1 - std::pow(o.beta2, step));
    u.learning_rate = o.learning_rate;
    const bool decays = optim::is_matrix(*parameter_);
    u.decay = decays ? 0 - o.learning_rate * o.weight_decay * result_.value : 0;
    u.change = -o.learning_rate * u.first_corrected / (std::sqrt(u.second_corrected) + o.epsilon);
  }

  const Trace& trace_;
  models::Model& model_;
  const BackwardOptions& options_;
  nn::Parameters parameters_;
  nn::ParameterHandle parameter_;
  int64_t offset_ = 0;
  BackwardWalk result_;
};

// The cell with the largest gradient of those with these names; nothing where none has one.
std::optional<CellReference> steepest_of(const Trace& trace, const nn::Parameters& all,
                                         const std::vector<std::string>& names) {
  std::optional<CellReference> steepest;
  float largest = -1;
  for (const nn::ParameterHandle& parameter : all) {
    const bool is_asked = std::ranges::find(names, parameter->name()) != names.end();
    if (!is_asked || trace.find(parameter->name()) == nullptr) continue;
    const Tensor gradient = parameter->grad();
    if (!gradient.defined()) continue;
    const Tensor numbers = gradient.contiguous();
    for (int64_t i = 0; i < numbers.elements(); ++i) {
      if (!(std::fabs(numbers.data<float>()[i]) > largest)) continue;
      largest = std::fabs(numbers.data<float>()[i]);
      steepest = {parameter->name(), index_at(parameter->shape(), i)};
    }
  }
  return steepest;
}

}  // namespace

CellReference steepest_weight(const Trace& trace, models::Model& model,
                              const std::vector<std::string>& parameters,
                              const std::vector<std::string>& otherwise) {
  if (!trace.input().batch.targets.defined()) refuse_without_target();
  const nn::Parameters all = model.parameters();
  const GradientCleaner cleaner(all);
  tensor::Arena arena;
  autograd::Tape tape;
  autograd::Context context{.threads = trace.threads(), .arena = arena, .tape = &tape};
  tape.backward(context, model.loss(context, trace.input().batch));
  std::optional<CellReference> steepest = steepest_of(trace, all, parameters);
  if (!steepest) steepest = steepest_of(trace, all, otherwise);
  if (!steepest) refuse_walk("weights", "none of them has a gradient");
  return *std::move(steepest);
}

BackwardWalk walk_backward(const Trace& trace, models::Model& model, const CellReference& weight,
                           const BackwardOptions& options) {
  return Walk(trace, model, weight, options).made();
}

}  // namespace headlight::explain
