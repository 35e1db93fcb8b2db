// Sentence pairs: from text to lines to ids.
#pragma once

#include "headlight/data/token_stream.h"

namespace headlight::data {

struct Pair {
  std::string source;
  std::string target;
  int64_t line = 0;  // in the file, from 1, for errors
};

// Lines end with LF or CRLF; the last may do without. `name` (a path) is for errors, which carry
// the line. A side that is empty or all white space is an Error, and so is a file without pairs.
//
// Source, tab, target; what follows a second tab is ignored.
std::vector<Pair> parse_pairs(std::string_view text, const std::string& name);
// Line n of one text with line n of the other.
struct NamedText {
  std::string_view text;
  std::string name;
};
std::vector<Pair> align_pairs(const NamedText& source, const NamedText& target);

// Every 20th pair for validation. Throws Error when there are fewer than 20.
struct PairSplit {
  std::vector<Pair> train;
  std::vector<Pair> valid;
};
PairSplit split_pairs(std::vector<Pair> pairs, const std::string& name);

// Pairs of ids, held compactly.
class PairSet {
 public:
  PairSet(int64_t source_vocabulary, int64_t target_vocabulary)
      : sources_(source_vocabulary), targets_(target_vocabulary) {}

  int64_t size() const noexcept { return static_cast<int64_t>(source_ends_.size()) - 1; }
  void append(std::span<const int64_t> source, std::span<const int64_t> target);

  int64_t source_length(int64_t pair) const { return length(source_ends_, pair); }
  int64_t target_length(int64_t pair) const { return length(target_ends_, pair); }
  std::vector<int64_t> source(int64_t pair) const { return ids(sources_, source_ends_, pair); }
  std::vector<int64_t> target(int64_t pair) const { return ids(targets_, target_ends_, pair); }
  int64_t longest_source() const noexcept { return longest_source_; }
  int64_t longest_target() const noexcept { return longest_target_; }
  int64_t source_tokens() const noexcept { return sources_.size(); }
  int64_t target_tokens() const noexcept { return targets_.size(); }

 private:
  using Ends = std::vector<int64_t>;  // pair i is [ends[i], ends[i + 1])
  static int64_t length(const Ends& ends, int64_t pair);
  static std::vector<int64_t> ids(const TokenStream& stream, const Ends& ends, int64_t pair);

  TokenStream sources_;
  TokenStream targets_;
  Ends source_ends_ = {0};
  Ends target_ends_ = {0};
  int64_t longest_source_ = 0;
  int64_t longest_target_ = 0;
};

// A source as an encoder reads it: with what the tokenizer puts around a text, Marian's and T5's
// </s>. Of a text without tokens nothing.
std::vector<int64_t> source_ids(const text::Tokenizer& tokenizer, std::string_view text);

// Throws Error with the line for a side that gives no tokens or cannot be encoded.
PairSet encode_pairs(const text::Tokenizer& source, const text::Tokenizer& target,
                     std::span<const Pair> pairs, const std::string& name);

}  // namespace headlight::data
