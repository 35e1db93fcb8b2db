// HeadSet: which heads an attention has, by the numbers they were made with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headlight::nn {

// Numbers of heads, ascending.
using HeadNumbers = std::vector<int64_t>;

// Heads that are left after pruning keep their numbers. Key/value heads that none of them reads are
// gone too.
struct HeadSet {
  int64_t original = 0;    // query heads that there were
  HeadNumbers numbers;     // query heads that are left
  HeadNumbers kv_numbers;  // key/value heads that are left
  HeadNumbers kv_head_of;  // of each query head left: the place of its key/value head among those

  int64_t count() const { return static_cast<int64_t>(numbers.size()); }
  int64_t kv_count() const { return static_cast<int64_t>(kv_numbers.size()); }
  bool is_whole() const { return count() == original; }
  // Whether each key/value head has as many readers.
  bool is_even() const;
  // Where a head stands among those left; nothing when it is not one of them.
  std::optional<int64_t> place_of(int64_t number) const;
};

// Query head h of `heads` reads key/value head h / (heads / kv_heads), which must be whole; `left`
// are the query heads that stay, all when unset. Throws Error(bad_input), which names `place`, for
// numbers that are not ascending or not among the heads.
HeadSet head_set(const std::string& place, int64_t heads, int64_t kv_heads,
                 const std::optional<HeadNumbers>& left);

// Why a head of this number cannot be had where these are left of `original`: "head 3 was pruned;
// left are 0, 2".
std::string why_no_head(int64_t number, const HeadNumbers& left, int64_t original);

}  // namespace headlight::nn
