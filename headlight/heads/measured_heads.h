// All heads of a recorded run, each measured with its weights at hand. For heads' own use.
#pragma once

#include <functional>
#include <vector>

#include "headlight/heads/head_statistics.h"

namespace headlight::heads {

struct MeasuredAttention {
  std::string place;
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
};

struct MeasuredHead {
  HeadStatistics statistics = {};
  size_t attention = 0;  // which of the attentions
  int64_t index = 0;     // among the heads that it has
  double first_share =
      0;  // mean weight of the first key that a row sees, where it sees two or more
};

struct MeasuredHeads {
  std::vector<MeasuredAttention> attentions = {};
  std::vector<MeasuredHead> heads = {};
};

// `see` is given each head's number in the list and its weights, (T, S), on any thread.
using SeeWeights = std::function<void(size_t head, const tensor::Tensor& weights)>;
MeasuredHeads measure_heads(base::ThreadPool& threads, const autograd::Recording& recording,
                            const models::Batch& batch, const std::vector<int64_t>& counts,
                            const SeeWeights& see = {});

}  // namespace headlight::heads
