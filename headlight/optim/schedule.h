// Schedules: the learning rate as a function of the step alone.
#pragma once

#include <cstdint>

namespace headlight::optim {

enum class ScheduleKind { cosine, noam, inverse_sqrt, constant };

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::constant;
  double learning_rate = 1e-3;   // the highest; of noam the factor (1 in the paper)
  double min_learning_rate = 0;  // cosine
  int64_t warmup_iters = 0;
  int64_t lr_decay_iters = 0;  // cosine
  int64_t d_model = 0;         // noam; at least 1
};

// Steps count from 0; with s = step + 1 and w = max(1, warmup_iters):
//   cosine        rate * s / (warmup_iters + 1) while step < warmup_iters, then half a cosine from
//                 the rate down to min_learning_rate at lr_decay_iters, and that from there on
//                 (nanoGPT's)
//   noam          rate * d_model^-1/2 * min(s^-1/2, s * w^-3/2)
//   inverse_sqrt  rate * min(s / w, sqrt(w / s))
//   constant      rate * s / (warmup_iters + 1) while step < warmup_iters, then the rate
double learning_rate_at(const ScheduleOptions& options, int64_t step);

}  // namespace headlight::optim
