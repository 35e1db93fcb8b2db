// The four schedules.
#include "headlight/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headlight::optim {
namespace {

double cosine(const ScheduleOptions& options, int64_t step) {
  if (step > options.lr_decay_iters) return options.min_learning_rate;
  // Without an interval to decay in, its only step is its first.
  const int64_t interval = std::max<int64_t>(1, options.lr_decay_iters - options.warmup_iters);
  const double share =
      static_cast<double>(step - options.warmup_iters) / static_cast<double>(interval);
  const double height = 0.5 * (1 + std::cos(std::numbers::pi * share));
  return options.min_learning_rate + height * (options.learning_rate - options.min_learning_rate);
}

}  // namespace

double learning_rate_at(const ScheduleOptions& options, int64_t step) {
  const double s = static_cast<double>(step) + 1;
  const double w = static_cast<double>(std::max<int64_t>(1, options.warmup_iters));
  const bool warming = step < options.warmup_iters;
  const double warming_rate =
      options.learning_rate * s / (static_cast<double>(options.warmup_iters) + 1);
  switch (options.kind) {
    case ScheduleKind::cosine:
      return warming ? warming_rate : cosine(options, step);
    case ScheduleKind::noam:
      return options.learning_rate / std::sqrt(static_cast<double>(options.d_model)) *
             std::min(1 / std::sqrt(s), s / (w * std::sqrt(w)));
    case ScheduleKind::inverse_sqrt:
      return options.learning_rate * std::min(s / w, std::sqrt(w / s));
    case ScheduleKind::constant:
      return warming ? warming_rate : options.learning_rate;
  }
  return options.learning_rate;
}

}  // namespace headlight::optim
