// TokenStream, and texts and files read into it piece by piece.
#include "headlight/data/token_stream.h"

#include <algorithm>
#include <array>
#include <limits>

namespace headlight::data {
namespace {

using base::Error;
using base::ErrorKind;

constexpr size_t kPieceBytes = size_t{1} << 20;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Behind the first line's end at or after `at` that has no other white space beside it. Between
// such an end and the next line no tokenizer we know makes a token or an accent.
size_t next_cut(std::string_view text, size_t at) {
  for (size_t end = text.find('\n', at); end != std::string_view::npos;
       end = text.find('\n', end + 1)) {
    const bool alone =
        end > 0 && !is_space(text[end - 1]) && end + 1 < text.size() && !is_space(text[end + 1]);
    if (alone) return end + 1;
  }
  return text.size();
}

// Whether the lines on both sides of the cut give the same tokens apart as together; tokenizers
// that put a space before each text do not.
bool is_clean_cut(const text::Tokenizer& tokenizer, std::string_view text, size_t cut) {
  const size_t before = text.rfind('\n', cut - 2);
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const size_t end = std::min(text.size(), text.find('\n', cut));
  std::vector<int64_t> apart = tokenizer.encode(text.substr(begin, cut - begin));
  const std::vector<int64_t> second = tokenizer.encode(text.substr(cut, end - cut));
  apart.insert(apart.end(), second.begin(), second.end());
  return apart == tokenizer.encode(text.substr(begin, end - begin));
}

// Where in the text from `at` on the tokenizer fails: "play.txt:12", or the name alone when it does
// not for any line.
std::string wrong_line(const text::Tokenizer& tokenizer, std::string_view text, size_t at,
                       const std::string& name) {
  auto number = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  while (at < text.size()) {
    ++number;
    const size_t end = std::min(text.size(), text.find('\n', at)) + 1;
    try {
      tokenizer.encode(text.substr(at, end - at));
    } catch (const Error&) {
      return name + ":" + std::to_string(number);
    }
    at = end;
  }
  return name;
}

}  // namespace

TokenStream::TokenStream(int64_t vocabulary_size) : vocabulary_size_(vocabulary_size) {}

void TokenStream::append(std::span<const int64_t> ids) {
  constexpr int64_t kNarrow = int64_t{std::numeric_limits<uint16_t>::max()} + 1;
  const auto wrong = std::find_if(ids.begin(), ids.end(),
                                  [this](int64_t id) { return id < 0 || id >= vocabulary_size_; });
  if (wrong != ids.end()) {
    throw Error(ErrorKind::bad_input, "tokens", "",
                "id " + std::to_string(*wrong) + " at place " +
                    std::to_string(size() + (wrong - ids.begin())) + ", the vocabulary has " +
                    std::to_string(vocabulary_size_));
  }
  if (vocabulary_size_ <= kNarrow) {
    narrow_.insert(narrow_.end(), ids.begin(), ids.end());
  } else {
    wide_.insert(wide_.end(), ids.begin(), ids.end());
  }
}

void TokenStream::copy(int64_t first, std::span<int64_t> into) const {
  const auto from = [&](const auto& ids) {
    std::copy_n(ids.begin() + first, into.size(), into.begin());
  };
  wide_.empty() ? from(narrow_) : from(wide_);
}

TokenStream tokenize(const text::Tokenizer& tokenizer, std::string_view text,
                     const std::string& name) {
  TokenStream stream(tokenizer.size());
  size_t begin = 0;
  while (begin < text.size()) {
    try {
      size_t end = next_cut(text, std::min(text.size(), begin + kPieceBytes));
      if (end < text.size() && !is_clean_cut(tokenizer, text, end)) end = text.size();
      stream.append(tokenizer.encode(text.substr(begin, end - begin)));
      begin = end;
    } catch (const Error& error) {
      throw Error(error.kind(), "text", wrong_line(tokenizer, text, begin, name), error.what());
    }
  }
  return stream;
}

TextSplit split_text(std::string_view text) {
  const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  const auto characters = std::count_if(text.begin(), text.end(), starts);
  auto left = characters * 9 / 10;
  size_t at = 0;
  // Past the characters of the first part, to where the next one starts.
  while (at < text.size() && (!starts(text[at]) || left-- > 0)) ++at;
  return {text.substr(0, at), text.substr(at)};
}

}  // namespace headlight::data
