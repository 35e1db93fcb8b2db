// Tasks that make their own data: copy, reverse and numbers.
#pragma once

#include <memory>

#include "headlight/data/pair_batches.h"

namespace headlight::data {

struct TokenPair {
  std::vector<int64_t> source;
  std::vector<int64_t> target;
};

// Cases that training never sees, of one kind: for numbers a language ("en", "tr", "az", "ko"), for
// the others nothing.
struct HeldOutCases {
  std::string kind;
  PairSet pairs;
};

class GeneratedTask {
 public:
  virtual ~GeneratedTask() = default;

  // Has <pad>, <start> and <end>.
  const text::Tokenizer& tokenizer() const noexcept { return tokenizer_; }
  SequenceIds ids() const;
  virtual int64_t longest_source() const = 0;
  virtual int64_t longest_target() const = 0;  // without start and end

  // `rows` cases for training, none of them held out. Cases of similar length go together, so that
  // little is padding: kBatchPool batches, from a multiple of it on, share out what was drawn for
  // all of them. Steps that draw several batches number their batches.
  static constexpr uint64_t kBatchPool = 8;
  PairBatch batch(uint64_t seed, uint64_t step, int64_t rows) const;
  // The same `count` different cases every time, of each kind; fewer where there are not so many.
  virtual std::vector<HeldOutCases> held_out(int64_t count) const = 0;

 protected:
  GeneratedTask(std::string_view name, text::Tokenizer tokenizer);
  // The case that the key stands for; nothing when it is held out.
  virtual std::optional<TokenPair> draw(uint64_t key) const = 0;
  PairSet empty_set() const { return {tokenizer_.size(), tokenizer_.size()}; }

 private:
  uint64_t name_key_;
  text::Tokenizer tokenizer_;
};

// The task of this name; Error(usage) for another one.
// - copy: ten numbers, the same again; 11 tokens: <pad>, <start>, <end> and the numbers 1 to 8. (In
//   the annotated transformer there is no end, and the first of the ten is the start.)
// - reverse: 1 to 25 numbers of 0 to 49, every length as likely, from the last to the first; held
//   out, as for copy, is about one sequence in 97, chosen by a hash.
// - numbers: number words of four languages, letter by letter, to digits; every language and every
//   number of digits is as likely; held out is n % 97 == 13.
std::unique_ptr<GeneratedTask> generated_task(std::string_view name);

}  // namespace headlight::data
