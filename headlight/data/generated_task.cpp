// What generated tasks share, and the two on sequences of numbers.
#include "headlight/data/generated_task.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "headlight/data/numbers_task.h"

namespace headlight::data {
namespace {

using base::Error;
using base::ErrorKind;

struct SequenceTaskOptions {
  std::string_view name;
  int64_t first_number = 0;
  int64_t numbers = 0;  // how many there are
  int64_t shortest = 0;
  int64_t longest = 0;
  bool reversed = false;
};

text::Tokenizer tokenizer_of(const SequenceTaskOptions& options) {
  std::string numbers;
  for (int64_t i = 0; i < options.numbers; ++i) {
    numbers += std::to_string(options.first_number + i) + ' ';
  }
  const std::string_view text = numbers;
  return text::word_tokenizer({&text, 1}, task_special_tokens());
}

// About one sequence in 97.
bool is_held_out(const std::vector<int64_t>& source) {
  const auto bytes = std::as_bytes(std::span(source));
  return base::name_key({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) % 97 == 13;
}

class SequenceTask : public GeneratedTask {
 public:
  explicit SequenceTask(const SequenceTaskOptions& options)
      : GeneratedTask(options.name, tokenizer_of(options)), options_(options) {}

  int64_t longest_source() const override { return options_.longest; }
  int64_t longest_target() const override { return options_.longest; }

  std::string data_name() const override { return std::string(options_.name); }

  std::vector<TaskCases> held_out(int64_t count) const override {
    TaskCases cases{"", "", empty_set()};
    std::set<std::vector<int64_t>> known;
    for (uint64_t i = 0; cases.pairs.size() < count; ++i) {
      const TokenPair pair = drawn(base::mix(base::name_key("held out"), i));
      if (!is_held_out(pair.source) || !known.insert(pair.source).second) continue;
      cases.pairs.append(pair.source, pair.target);
    }
    return {cases};
  }

 protected:
  std::optional<TokenPair> draw(uint64_t key) const override {
    TokenPair pair = drawn(key);
    if (is_held_out(pair.source)) return std::nullopt;
    return pair;
  }

 private:
  // Special tokens come before the numbers.
  TokenPair drawn(uint64_t key) const {
    const base::Random random(key);
    const uint64_t lengths = static_cast<uint64_t>(options_.longest - options_.shortest + 1);
    const uint64_t length = static_cast<uint64_t>(options_.shortest) + random.below(0, lengths);
    const int64_t first_id = tokenizer().size() - options_.numbers;
    TokenPair pair;
    for (uint64_t i = 1; i <= length; ++i) {
      const uint64_t number = random.below(i, static_cast<uint64_t>(options_.numbers));
      pair.source.push_back(first_id + static_cast<int64_t>(number));
    }
    pair.target = pair.source;
    if (options_.reversed) std::reverse(pair.target.begin(), pair.target.end());
    return pair;
  }

  SequenceTaskOptions options_;
};

}  // namespace

GeneratedTask::GeneratedTask(std::string_view name, text::Tokenizer tokenizer)
    : name_key_(base::name_key(name)), tokenizer_(std::move(tokenizer)) {}

SequenceIds GeneratedTask::ids() const {
  const text::SpecialIds& special = tokenizer_.special();
  return {.pad = special.pad.value(), .start = special.bos.value(), .end = special.eos.value()};
}

PairBatch GeneratedTask::batch(uint64_t seed, uint64_t step, int64_t rows) const {
  const uint64_t pool_key = base::mix(base::mix(seed, step / kBatchPool), name_key_);
  PairSet pairs = empty_set();
  // Draws are numbered through, those of held-out cases are left out.
  for (uint64_t draws = 0; pairs.size() < rows * static_cast<int64_t>(kBatchPool); ++draws) {
    if (const std::optional<TokenPair> pair = draw(base::mix(pool_key, draws)))
      pairs.append(pair->source, pair->target);
  }
  PairIndices indices(static_cast<size_t>(pairs.size()));
  std::iota(indices.begin(), indices.end(), 0);
  std::ranges::stable_sort(indices, {}, [&](int64_t pair) { return pairs.source_length(pair); });
  // The pool's batches in an order of its own: short and long ones come mixed.
  std::array<size_t, kBatchPool> order;
  std::iota(order.begin(), order.end(), size_t{0});
  const base::Random random(base::mix(pool_key, base::name_key("order")));
  for (size_t i = kBatchPool - 1; i > 0; --i)
    std::swap(order[i], order[static_cast<size_t>(random.below(i, i + 1))]);
  const auto first = order[step % kBatchPool] * static_cast<size_t>(rows);
  return make_batch(pairs, std::span(indices).subspan(first, static_cast<size_t>(rows)), ids());
}

std::vector<std::string> task_special_tokens() { return {"<pad>", "<start>", "<end>"}; }

std::unique_ptr<GeneratedTask> generated_task(std::string_view name) {
  if (name == "numbers") return numbers_task();
  if (name == "copy") {
    return std::make_unique<SequenceTask>(SequenceTaskOptions{
        .name = "copy", .first_number = 1, .numbers = 8, .shortest = 10, .longest = 10});
  }
  if (name == "reverse") {
    return std::make_unique<SequenceTask>(SequenceTaskOptions{
        .name = "reverse", .numbers = 50, .shortest = 1, .longest = 25, .reversed = true});
  }
  throw Error(ErrorKind::usage, "task", std::string(name),
              "is not generated; generated are numbers, copy, reverse");
}

}  // namespace headlight::data
