// Edit distance; divisors.
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

constexpr size_t kShortestBeginning = 3;

// "temp" of "temperature", and "top-k" of "top-k-sampling".
bool is_beginning(std::string_view word, std::string_view candidate) {
  if (word.size() >= kShortestBeginning && candidate.starts_with(word)) return true;
  return candidate.size() >= kShortestBeginning && word.starts_with(candidate) &&
         (word.size() == candidate.size() || word[candidate.size()] == '-');
}

bool is_near(std::string_view word, std::string_view candidate, size_t edits) {
  // In two letters, one that is wrong leaves nothing to go by.
  if (word.size() < 3) return word.size() == 2 && std::ranges::is_permutation(word, candidate);
  return edits <= word.size() / 3;
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) {
  // The table is quadratic, and no word we know is longer than this.
  const std::string_view start = word.substr(0, 64);
  std::optional<std::string_view> best;
  size_t fewest = word.size() + 1;
  for (const std::string_view candidate : candidates) {
    const bool is_begun = is_beginning(start, candidate);
    const size_t edits = is_begun ? 1 : edits_between(start, candidate);
    if (edits >= fewest || !(is_begun || is_near(start, candidate, edits))) continue;
    best = candidate;
    fewest = edits;
  }
  return best;
}

std::string nearest_hint(std::string_view word, std::span<const std::string_view> candidates) {
  const auto found = nearest(word, candidates);
  return found ? "; the nearest is " + std::string(*found) : "";
}

std::string nearest_divisors(int64_t number, int64_t wanted) {
  if (wanted >= number) return std::to_string(number);
  int64_t below = wanted - 1;
  while (below > 1 && number % below != 0) --below;
  // All but the number itself are at most its half.
  int64_t above = wanted + 1;
  while (above <= number / 2 && number % above != 0) ++above;
  if (above > number / 2) above = number;
  return below < 1 ? std::to_string(above) : std::to_string(below) + " or " + std::to_string(above);
}

}  // namespace headlight::base
