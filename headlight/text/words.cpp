// Labels of ids, and words that a tokenizer does not know.
#include "headlight/text/words.h"

#include <algorithm>
#include <set>

#include "headlight/io/io.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

// Bytes with those that are no UTF-8 as ⟨E2⟩.
std::string with_marked_bytes(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string shown;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = io::code_point_length(bytes, at);
    if (length > 0) {
      shown += bytes.substr(at, length);
      at += length;
      continue;
    }
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    shown.append("⟨").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]).append("⟩");
  }
  return shown;
}

// Whether a text begins, or ends, within a word. Fragments of letters do.
bool is_inside_word(std::string_view text, bool at_end) {
  if (text.empty()) return false;
  size_t at = 0;
  if (at_end) {
    at = text.size() - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  }
  if (io::code_point_length(text, at) == 0) return true;
  const char32_t letter = code_point_at(text, at).value;
  return is_word(letter) || is_mark(letter);
}

bool goes_on(const Tokenizer& tokenizer, int64_t before, int64_t id) {
  constexpr std::string_view kPiece = "##";
  const auto is_own = [&](int64_t one) {
    return one < 0 || one >= tokenizer.size() || tokenizer.is_special(one);
  };
  if (is_own(before) || is_own(id) || tokenizer.kind() == "word") return false;
  if (tokenizer.kind() == "wordpiece") return tokenizer.token(id).starts_with(kPiece);
  return is_inside_word(tokenizer.bytes(before, false), true) &&
         is_inside_word(tokenizer.bytes(id, false), false);
}

}  // namespace

std::string label_of(const Tokenizer& tokenizer, int64_t id) {
  if (id < 0 || id >= tokenizer.size()) return std::to_string(id);
  std::string shown = tokenizer.decode(std::vector<int64_t>{id});
  const bool is_text = !shown.empty() && shown.find("\uFFFD") == std::string::npos;
  if (is_text) return shown;
  const std::string bytes = tokenizer.bytes(id, true);
  return shown.empty() || bytes.empty() ? tokenizer.token(id) : with_marked_bytes(bytes);
}

std::vector<int64_t> word_numbers(const Tokenizer& tokenizer, std::span<const int64_t> ids) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool is_same = i > 0 && goes_on(tokenizer, ids[i - 1], ids[i]);
    numbers.push_back(i == 0 ? 0 : numbers.back() + (is_same ? 0 : 1));
  }
  return numbers;
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
