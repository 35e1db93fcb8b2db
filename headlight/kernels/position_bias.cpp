// Where T5's buckets begin: found by bisection with the formula itself, which does not decrease.
#include "headlight/kernels/position_bias.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::kernels {
namespace {

// The buckets of one direction.
struct DistanceBuckets {
  int64_t count = 0;
  int64_t exact = 0;
  int64_t max_distance = 0;

  // float32, in the order of the published code: no other order rounds to the same buckets.
  int64_t of(int64_t distance) const {
    if (distance < exact) return distance;
    const float ratio = static_cast<float>(distance) / static_cast<float>(exact);
    const auto range = static_cast<float>(
        std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
    const float step = std::log(ratio) / range * static_cast<float>(count - exact);
    return std::min(exact + static_cast<int64_t>(step), count - 1);
  }

  // The smallest distance in `bucket` or a later one; at max_distance the last has begun.
  int64_t start(int64_t bucket) const {
    if (bucket <= exact) return bucket;
    int64_t below = exact, reached = max_distance;
    while (reached - below > 1) {
      const int64_t middle = below + (reached - below) / 2;
      (of(middle) >= bucket ? reached : below) = middle;
    }
    return reached;
  }
};

}  // namespace

std::vector<BucketRun> bucket_runs(const PositionBias& bias) {
  DistanceBuckets buckets;
  buckets.count = bias.bidirectional ? bias.buckets / 2 : bias.buckets;
  buckets.exact = buckets.count / 2;
  buckets.max_distance = bias.max_distance;
  std::vector<BucketRun> runs;
  // Backwards: bucket k holds the distances from start(k) to start(k + 1) - 1.
  for (int64_t bucket = buckets.count - 1; bucket >= 0; --bucket) {
    const bool farthest = bucket == buckets.count - 1;
    const int64_t first =
        farthest ? std::numeric_limits<int64_t>::min() : 1 - buckets.start(bucket + 1);
    if (first <= -buckets.start(bucket)) runs.push_back({first, bucket});
  }
  if (!bias.bidirectional) return runs;
  // Forwards from 1 on, distance 0 being among the others.
  for (int64_t bucket = 1; bucket < buckets.count; ++bucket) {
    const int64_t first = buckets.start(bucket);
    const bool empty = bucket + 1 < buckets.count && buckets.start(bucket + 1) == first;
    if (!empty) runs.push_back({first, buckets.count + bucket});
  }
  return runs;
}

int64_t position_bucket(const PositionBias& bias, int64_t relative) {
  const std::vector<BucketRun> runs = bucket_runs(bias);
  const auto after = std::find_if(
      runs.begin(), runs.end(), [relative](const BucketRun& run) { return run.first > relative; });
  return (after - 1)->bucket;
}

}  // namespace headlight::kernels
