// The work that `headlight bench` measures: matrix products and the attention core.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headlight/kernels/kernels.h"

namespace headlight::cli {

// One piece of work on numbers of its own, which are made when it is.
struct Work {
  // Useful ones: causal attention counts half the square, a backward twice its forward.
  double operations = 0;
  double bytes = 0;  // not 0: reading them is the bottleneck, and what the share is of
  std::function<void()> run;
};

struct WorkCase {
  std::string name;  // "attention-causal-4x1024x768x12": what, then batch, tokens, width and heads
  std::function<Work(const kernels::Execution&, uint64_t seed)> make;
};

std::vector<WorkCase> bench_cases();
// Of them: training steps and decoding of whole models.
std::vector<WorkCase> model_cases();
// Shorter work is repeated within a timing, so that it is measured as it goes on, not as it starts.
constexpr double kShortestTiming = 40e-3;
// The middle one, or the mean of the two in the middle.
double median_of(std::vector<double> seconds);

}  // namespace headlight::cli
