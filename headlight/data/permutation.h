// A shuffle that depends on its key alone.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "headlight/base/base.h"

namespace headlight::data {

// 0 to count - 1 in an order drawn by the key, each order as likely.
inline std::vector<int64_t> permutation(int64_t count, uint64_t key) {
  const base::Random random(key);
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[random.below(left, left)]);
  }
  return order;
}

}  // namespace headlight::data
