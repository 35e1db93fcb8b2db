// Labels of ids, and words that a tokenizer does not know.
#include "headlight/text/words.h"

#include <algorithm>
#include <set>

#include "headlight/io/io.h"

namespace headlight::text {

std::string label_of(const Tokenizer& tokenizer, int64_t id) {
  if (id < 0 || id >= tokenizer.size()) return std::to_string(id);
  std::string shown = tokenizer.decode(std::vector<int64_t>{id});
  const bool is_text = !shown.empty() && shown.find("\uFFFD") == std::string::npos;
  return is_text ? shown : tokenizer.token(id);
}

std::vector<std::string> unknown_words(const Tokenizer& tokenizer, const std::string& text,
                                       bool special) {
  std::vector<std::string> unknown;
  std::set<std::string> seen;
  const std::optional<int64_t> id = tokenizer.special().unk;
  if (!id) return unknown;
  size_t begin = 0;
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (begin < text.size()) {
    size_t end = begin;
    while (end < text.size() && !is_space(text[end])) ++end;
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty() || !seen.insert(word).second) continue;
    if (special && word == tokenizer.token(*id)) continue;  // meant so
    const std::vector<int64_t> ids = tokenizer.encode(word, {.special = special});
    if (std::find(ids.begin(), ids.end(), *id) != ids.end()) unknown.push_back(word);
  }
  return unknown;
}

std::string unknown_text(const std::vector<std::string>& words) {
  constexpr size_t kMost = 5;
  std::string list;
  for (size_t i = 0; i < std::min(words.size(), kMost); ++i) {
    list += (i > 0 ? ", " : "") + io::in_quotes(words[i]);
  }
  return std::to_string(words.size()) + (words.size() == 1 ? " word is" : " words are") +
         " not in the vocabulary: " + list + (words.size() > kMost ? ", ..." : "");
}

}  // namespace headlight::text
