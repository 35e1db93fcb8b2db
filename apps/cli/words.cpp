// Letters, pieces, and text that may hold any bytes.
#include "apps/cli/words.h"

#include <algorithm>

#include "headlight/io/io.h"

namespace headlight::cli {

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
