// Edit distance, and text that may hold any bytes.
#include "apps/cli/words.h"

#include <algorithm>

#include "headlight/io/io.h"

namespace headlight::cli {
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

std::string in_small_letters(std::string_view word) {
  std::string small(word);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

std::vector<std::string> split_words(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::string shown(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t length = io::code_point_length(text, at);
    if (length > 0) {
      result.append(text.substr(at, length));
    } else {
      const auto byte = static_cast<unsigned char>(text[at]);
      result.append("\\x").append({kDigits[byte >> 4], kDigits[byte & 15]});
    }
    at += std::max<size_t>(length, 1);
  }
  return result;
}

}  // namespace headlight::cli
