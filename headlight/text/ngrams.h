// What scores of translations share. For text's own use.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "headlight/base/base.h"

namespace headlight::text {

using Ngrams = std::unordered_map<std::string_view, int64_t>;

// How many of the n-grams are in both.
inline int64_t matches(const Ngrams& hypothesis, const Ngrams& reference) {
  int64_t count = 0;
  for (const auto& [ngram, times] : hypothesis) {
    const auto found = reference.find(ngram);
    if (found != reference.end()) count += std::min(times, found->second);
  }
  return count;
}

inline void check_as_many(std::string_view score, std::span<const std::string> hypotheses,
                          std::span<const std::string> references) {
  if (hypotheses.size() == references.size()) return;
  throw base::Error(base::ErrorKind::bad_input, score, "",
                    std::to_string(hypotheses.size()) + " hypotheses, " +
                        std::to_string(references.size()) + " references");
}

// sacreBLEU's white space has four more separators than Unicode's.
inline std::string with_plain_spaces(std::string_view line) {
  std::string result(line);
  std::ranges::replace_if(
      result, [](char c) { return c >= 0x1C && c <= 0x1F; }, ' ');
  return result;
}

}  // namespace headlight::text
