// Edit distance.
#include "headlight/base/nearest.h"

#include <algorithm>
#include <vector>

namespace headlight::base {
namespace {

// Three rows of the usual table suffice, since an exchange looks two rows back.
size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<size_t> two_back(b.size() + 1), back(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) back[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({back[j] + 1, row[j - 1] + 1, back[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_back[j - 2] + 1);
      }
    }
    two_back.swap(back);
    back.swap(row);
  }
  return back[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  // The table is quadratic, and no word we know is longer than this.
  const std::string_view start = word.substr(0, 64);
  return *std::ranges::min_element(candidates, {}, [&](std::string_view candidate) {
    return candidate.starts_with(start) ? 1 : edits_between(start, candidate);
  });
}

}  // namespace headlight::base
