// HeadSet: query heads go singly, a key/value head goes with its last reader.
#include "headlight/nn/head_set.h"

#include <algorithm>

#include "headlight/base/base.h"

namespace headlight::nn {
namespace {

void check_left(const std::string& place, int64_t heads, const HeadNumbers& left) {
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] < 0 || left[i] >= heads) {
      base::refuse("multi-head attention", place, why_no_head(left[i], {}, heads));
    }
    if (i > 0 && left[i] <= left[i - 1]) {
      base::refuse("multi-head attention", place,
                   "heads left are to be named in ascending order, each once; " +
                       std::to_string(left[i]) + " stands after " + std::to_string(left[i - 1]));
    }
  }
}

}  // namespace

bool HeadSet::is_even() const {
  for (int64_t i = 0; i < count(); ++i) {
    if (count() % kv_count() != 0) return false;
    if (kv_head_of[static_cast<size_t>(i)] != i / (count() / kv_count())) return false;
  }
  return true;
}

std::optional<int64_t> HeadSet::place_of(int64_t number) const {
  const auto found = std::lower_bound(numbers.begin(), numbers.end(), number);
  if (found == numbers.end() || *found != number) return std::nullopt;
  return found - numbers.begin();
}

HeadSet head_set(const std::string& place, int64_t heads, int64_t kv_heads,
                 const std::optional<HeadNumbers>& left) {
  HeadSet set{.original = heads, .numbers = {}, .kv_numbers = {}, .kv_head_of = {}};
  if (left) {
    check_left(place, heads, *left);
    set.numbers = *left;
  } else {
    for (int64_t head = 0; head < heads; ++head) set.numbers.push_back(head);
  }
  for (const int64_t head : set.numbers) {
    const int64_t read = head / (heads / kv_heads);
    if (set.kv_numbers.empty() || set.kv_numbers.back() != read) set.kv_numbers.push_back(read);
    set.kv_head_of.push_back(set.kv_count() - 1);
  }
  return set;
}

std::string why_no_head(int64_t number, const HeadNumbers& left, int64_t original) {
  const std::string head = std::to_string(number);
  if (number < 0 || number >= original) {
    return "there is no head " + head + " among " + std::to_string(original) +
           ", they count from 0";
  }
  std::string list;
  for (const int64_t one : left) list += (list.empty() ? "" : ", ") + std::to_string(one);
  return "head " + head + " was pruned; left " +
         (list.empty() ? "is none" : (left.size() == 1 ? "is " : "are ") + list);
}

}  // namespace headlight::nn
