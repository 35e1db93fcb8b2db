// Gates that learn which heads are needed: hard-concrete L0 gates on a trained model (Louizos,
// Welling & Kingma 2018; on heads Voita et al. 2019).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headlight/heads/examples.h"
#include "headlight/heads/head_name.h"

namespace headlight::heads {

// With noise u, uniform between 0 and 1:
//   s = sigmoid((log u - log(1 - u) + log_alpha) / beta)
//   z = min(1, max(0, s * (zeta - gamma) + gamma))        beta 2/3, gamma -0.1, zeta 1.1
// so that z is 0 and 1 themselves with some probability, and has a slope in between.
struct GateDraw {
  double value = 0;  // z
  double slope = 0;  // dz / dlog_alpha; 0 where z is 0 or 1
};
GateDraw drawn_gate(double log_alpha, double noise);
// P(z > 0) = sigmoid(log_alpha - beta * log(-gamma / zeta)).
double open_probability(double log_alpha);
// What a gate is without noise: min(1, max(0, sigmoid(log_alpha) * (zeta - gamma) + gamma)). The
// gate counts as open from one half on, that is when log_alpha is not negative.
double gate_value(double log_alpha);

struct GateStep {
  int64_t step = 0;          // from 1
  double loss = 0;           // of the batch, with drawn gates, without the penalty
  double expected_open = 0;  // before this step's change
};

// Where training stands: log_alphas and their moments and, where they learn too, the model's
// weights and theirs. Handles, not copies: the next step changes them.
struct GateState {
  int64_t step = 0;  // done
  nn::StateDict tensors = {};
};

struct GateOptions {
  // What an open gate adds to the loss: loss + penalty * sum over heads of P(z > 0) is made small.
  double penalty = 0.01;
  int64_t steps = 300;
  double learning_rate = 0.1;  // of log_alpha, by Adam
  double log_alpha = 2;        // where all begin: a gate of 0.957, open with probability 0.973
  // Weights stay as they are, and dropout is off; or they learn too, as in Voita et al., by AdamW
  // at this rate with dropout on. Then the model is another afterwards.
  bool trains_weights = false;
  double weight_learning_rate = 1e-4;
  uint64_t seed = 0;  // of the noise: every example of a step draws its own for every head
  // The batch of a step, from 0, with targets.
  std::function<models::Batch(int64_t step)> batch = {};
  std::function<void(const GateStep&)> step_done = {};
  // Where an earlier run stood; this one ends as that would have. Its tensors are written to.
  std::shared_ptr<const GateState> begun = {};
  std::function<void(const GateState&)> standing = {};  // after each step
  Watch watch = {};
};

struct HeadGate {
  HeadName head;
  double log_alpha = 0;
  double probability = 0;  // of being open
  double value = 0;        // without noise
  bool open = true;
};

struct GatesResult {
  std::vector<HeadGate> heads = {};  // in the order of the model
  double expected_open = 0;          // the expected L0: the sum of the probabilities
  double penalty = 0;
  int64_t steps = 0;
  bool trained_weights = false;
  bool interrupted = false;  // then there is nothing else in it

  std::vector<HeadName> closed() const;
};

// Heads whose module has a gate of 0 are not there: they are neither trained nor penalised nor part
// of the result. Gates of modules multiply what is drawn and are the same afterwards. Throws
// Error(bad_input) for a model that predicts nothing, options out of range and a state of another
// model, Error(failed) when training diverges.
GatesResult train_gates(base::ThreadPool& threads, models::Model& model,
                        const GateOptions& options);

// What step number `step`, from 0, goes by: the loss of its batch with the gates that it draws, the
// penalty, and the slopes of their sum by the log_alphas, which are in the order of the result.
struct GateObjective {
  double loss = 0;
  double penalty = 0;
  std::vector<double> slopes = {};
};
GateObjective gate_objective(base::ThreadPool& threads, models::Model& model,
                             const GateOptions& options, const std::vector<double>& log_alphas,
                             int64_t step);

// {"penalty", "steps", "trained_weights", "expected_open", "open", "heads": [{"head", "log_alpha",
// "probability", "value", "open"}]}.
io::Json::Object gates_json(const GatesResult& result);

}  // namespace headlight::heads
