// Tasks that make their own data: copy, reverse and numbers.
#pragma once

#include <memory>

#include "headlight/data/pair_batches.h"

namespace headlight::data {

struct TokenPair {
  std::vector<int64_t> source;
  std::vector<int64_t> target;
};

// Cases of one kind and form: for numbers a language ("en", "tr", "az", "ko") and one of the ways
// in which it is written ("hyphens", "joined"), for the others nothing.
struct TaskCases {
  std::string kind;
  std::string form;
  PairSet pairs;
};

// A part of an exam, with cases of each form.
struct ExamPart {
  std::string name;
  std::vector<TaskCases> forms;
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
  // Cases that training never sees: the same `count` different ones every time, of each form; fewer
  // where there are not so many.
  virtual std::vector<TaskCases> held_out(int64_t count) const = 0;
  // What a trained model is asked: first so many held-out cases of each form, "held_out"; then what
  // people would try, which training may have seen. For numbers these are "six_digits" (held out),
  // "tried" (round numbers, years and the like) and "below_10000" (all of them).
  virtual std::vector<ExamPart> exam(int64_t count) const {
    return {{"held_out", held_out(count)}};
  }
  // Why a text, as the tokenizer decodes it, cannot be a source of the task; nothing when it can,
  // or when nobody knows.
  virtual std::optional<std::string> why_not_source(std::string_view) const { return {}; }
  // Another name for other data: a run is not resumed on data that it was not started with.
  virtual std::string data_name() const = 0;

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
// - numbers: number words of four languages, letter by letter, to digits; every language and, in a
//   language, every form and every number of digits is as likely, and every second number is a
//   round one; held out is n % 97 == 13.
std::unique_ptr<GeneratedTask> generated_task(std::string_view name);

}  // namespace headlight::data
