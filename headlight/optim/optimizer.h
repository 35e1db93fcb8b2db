// Optimizer: changes parameters by their gradients, with clipping, decay and a state that can be
// saved.
#pragma once

#include <functional>
#include <limits>
#include <optional>

#include "headlight/nn/nn.h"

namespace headlight::optim {

using OptimizerKind = kernels::UpdateRule;  // adamw, adam, sgd: PyTorch's formulas

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  double learning_rate = 1e-3;  // of step() without one
  double beta1 = 0.9;           // adamw, adam
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double momentum = 0.9;  // sgd
  double weight_decay = 0.01;
  double grad_clip = 0;  // the largest norm of all gradients together; 0: none
};

// Whether weight decay is for this parameter. As in nanoGPT, matrices decay (rank 2 and more) and
// biases and norms do not.
using Decays = std::function<bool(const nn::Parameter&)>;
bool is_matrix(const nn::Parameter& parameter);

// What gradients of this norm are multiplied by to keep it within `limit` (0: none), as PyTorch's
// clip_grad_norm_ has it.
double clipping_factor(double norm, double limit);

// A part of all numbers, those of one parameter after those of another. An optimizer of a part
// keeps moments for it alone.
struct Part {
  int64_t first = 0;
  int64_t end = std::numeric_limits<int64_t>::max();
};
// The numbers of [first, first + count) that a part has, from `first` on.
Part part_within(const Part& part, int64_t first, int64_t count);
// Where parts may begin and end: so the blocks whose squares are summed are whole.
std::vector<int64_t> part_ends(const nn::Parameters& parameters);

// Holds handles on the parameters and, for each, its moments and its number of steps. Not
// thread-safe. All results have the same bits for any number of threads.
class Optimizer {
 public:
  // Parameters have numbers already and names of their own. Throws Error(bad_input) for options out
  // of range.
  Optimizer(const nn::Parameters& parameters, const OptimizerOptions& options,
            const Decays& decays = is_matrix, const Part& part = {});

  const OptimizerOptions& options() const noexcept { return options_; }

  // Changes every parameter that has a gradient and returns the norm of all gradients as they were,
  // before clipping. When that is not finite (or a single square is beyond float32), nothing is
  // changed: the caller decides. Gradients stay; clear_gradients() forgets them.
  double step(const kernels::Execution& execution, double learning_rate);
  double step(const kernels::Execution& execution) {
    return step(execution, options_.learning_rate);
  }
  // The two halves of a step, for several optimizers that have a part each: the norm is that of
  // the square sums of all, in the order of their parts. Blocks without a gradient have a sum of 0.
  std::vector<double> square_sums(const kernels::Execution& execution) const;
  void change(const kernels::Execution& execution, double learning_rate, double norm);
  void clear_gradients();

  // "exp_avg.<name>", "exp_avg_sq.<name>" (sgd: "momentum_buffer.<name>" instead), "step.<name>",
  // float32, named as PyTorch does; handles, not copies. After load_state() on the same parameters
  // the run goes on with the same bits; tensors are not copied and will be written to. All or
  // nothing: throws Error(bad_input) as nn::load_state does, for unknown names too.
  nn::StateDict state() const;
  void load_state(const nn::StoredState& state);
  void load_state(const nn::StateDict& state) { load_state(nn::stored(state)); }

  // What is kept of one tensor of the state, in the order of the parameters; of an optimizer of a
  // part it may be less than the tensor, or nothing.
  struct Kept {
    std::string name;
    tensor::Shape shape;  // of the whole tensor
    // Its first number among all numbers; nothing: every part keeps all of it.
    std::optional<int64_t> first = {};
    Part within = {0, 0};  // what is kept of it, from its own beginning
    nn::ParameterHandle numbers;
  };
  const std::vector<Kept>& kept() const noexcept { return kept_; }
  int64_t kept_numbers() const noexcept;
  // What an optimizer of all numbers keeps.
  int64_t all_numbers() const noexcept;

 private:
  struct Slot {
    nn::ParameterHandle parameter;
    double weight_decay = 0;
    Part within = {0, 0};  // the parameter's numbers that are changed here
    nn::ParameterHandle step = {}, first_moment = {}, second_moment = {};
  };
  nn::ParameterHandle keep(const char* kind, const nn::Parameter& parameter, int64_t first,
                           const Part& within);
  static void set_numbers_to_change(const Slot& slot, kernels::ParameterUpdate& update);
  kernels::ParameterUpdate update_of(const Slot& slot) const;

  OptimizerOptions options_;
  std::vector<Slot> slots_;
  std::vector<Kept> kept_;  // steps and moments of all slots
};

}  // namespace headlight::optim
