// One step of an optimizer over all parameters at once, and the size of their gradients.
#pragma once

#include <span>
#include <vector>

#include "headlight/kernels/execution.h"

namespace headlight::kernels {

// PyTorch's rules. adamw: p -= lr * decay * p, then p -= lr * m^ / (sqrt(v^) + epsilon), where m^
// and v^ are the moments corrected for their start at zero. adam: the same, with decay * p added to
// the gradient instead. sgd: m = momentum * m + (g + decay * p), p -= lr * m.
enum class UpdateRule { adamw, adam, sgd };

struct UpdateOptions {
  UpdateRule rule = UpdateRule::adamw;
  double learning_rate = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double momentum = 0.9;
  double gradient_factor = 1;  // multiplies every gradient first: clipping
};

// `count` adjacent numbers, with their gradient and moments; sgd has no second moment.
struct ParameterUpdate {
  float* numbers = nullptr;
  const float* gradient = nullptr;
  float* first_moment = nullptr;
  float* second_moment = nullptr;
  int64_t count = 0;
  double weight_decay = 0;
  double step = 1;  // of this parameter, this one included
};

// One threaded pass over all of them. Moments too small for a normal float become zero: they would
// stay there for ever and make each later step slow.
void update_parameters(const Execution& execution, const UpdateOptions& options,
                       std::span<const ParameterUpdate> updates);

// The sums of the squares of all gradients, block by block: each update is cut into blocks of
// kUpdateBlock numbers, the last of which may be shorter. Squares are floats, so a sum is infinite
// from gradients of about 1e19 on.
constexpr int64_t kUpdateBlock = int64_t{1} << 14;
std::vector<double> square_sums(const Execution& execution,
                                std::span<const ParameterUpdate> updates);
// The square root of all of them together, added in their order.
double norm_of(std::span<const double> square_sums);

}  // namespace headlight::kernels
