// Why did this weight change? From the loss down to one weight, and its update.
#pragma once

#include <string>
#include <vector>

#include "headlight/explain/cell_terms.h"
#include "headlight/optim/optim.h"

namespace headlight::explain {

struct BackwardOptions {
  optim::OptimizerOptions optimizer = {};  // adamw
  nn::StateDict optimizer_state = {};      // of a run so far (copied); empty: the first step
};

// The gradient of the loss at one tensor of the run, of the tensor's shape.
struct TensorGradient {
  std::string name;  // of the tensor; cells of its gradient are "gradient.<name>[...]"
  tensor::Tensor values;
};

// AdamW on one number, in the order in which it is computed.
struct WeightUpdate {
  int64_t step = 1;
  double gradient_norm = 0;  // of all gradients together
  double clip_limit = 0;     // 0: none
  double clip_factor = 1;
  double clipped_gradient = 0;
  double first_moment_before = 0;
  double second_moment_before = 0;
  double first_moment = 0;
  double second_moment = 0;
  double first_corrected = 0;   // m / (1 - beta1^step)
  double second_corrected = 0;  // v / (1 - beta2^step)
  double learning_rate = 0;
  // The new value is the old one plus both.
  double decay = 0;     // -learning_rate * weight_decay * value (adamw, matrices)
  double change = 0;    // -learning_rate * m^ / (sqrt(v^) + epsilon)
  float new_value = 0;  // the optimizer's own, to the bit
};

struct BackwardWalk {
  double loss = 0;           // mean over the targets that are known, natural logarithm
  tensor::Tensor error;      // p - y, (1, T, V); rows without a target are zero
  int64_t target_count = 0;  // by which the error is divided to give the gradient of the logits
  // From the logits down to the tensors that the weight makes: those that depend on it. A copy has
  // the gradient of what it copies. What a norm or softmax is put together from (mean, deviation,
  // row maximum and sum) has none of its own.
  std::vector<TensorGradient> gradients;
  CellReference weight;
  float value = 0;
  double gradient = 0;      // the engine's
  std::vector<Term> terms;  // which add up to it; factors are cells of tensors and of gradients
  WeightUpdate update;
  double new_loss = 0;  // after all weights have been updated
};

// `weight` is a cell of a parameter ("encoder.layers.0.fc1.weight[3,2]"); the input that was traced
// needs targets. The model is changed and put back. Throws Error(bad_input) for what is no
// parameter of the run, without targets and for another optimizer; Error(failed) when gradients are
// not finite.
BackwardWalk walk_backward(const Trace& trace, models::Model& model, const CellReference& weight,
                           const BackwardOptions& options = {});

// Of these parameters (those of the run among them), the cell with the largest |gradient| of the
// loss; of equals the first. Where no gradient reaches any of them, as it is with an encoder that
// no head of the decoder looks at, of those that are named `otherwise`. Throws Error(bad_input)
// without targets and when there is none.
CellReference steepest_weight(const Trace& trace, models::Model& model,
                              const std::vector<std::string>& parameters,
                              const std::vector<std::string>& otherwise = {});

}  // namespace headlight::explain
