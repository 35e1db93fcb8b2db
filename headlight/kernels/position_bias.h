// T5's buckets of relative positions as runs: neighbouring positions share a bucket, so biases are
// written and gradients summed up run by run. Kernels only.
#pragma once

#include <vector>

#include "headlight/kernels/attention.h"

namespace headlight::kernels {

// Relative positions from `first` up to the next run's first are in one bucket.
struct BucketRun {
  int64_t first;
  int64_t bucket;
};

// In ascending order, the first one without a lower end. `bias` is of the kind buckets.
std::vector<BucketRun> bucket_runs(const PositionBias& bias);

}  // namespace headlight::kernels
