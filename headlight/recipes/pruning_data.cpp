// Data cut into two parts, with examples of both; and the steps that train a pruned model.
#include "headlight/recipes/pruning_data.h"

#include <algorithm>
#include <cmath>

#include "headlight/recipes/train_settings.h"

namespace headlight::recipes {
namespace {

using models::Batch;
using tensor::Tensor;

constexpr int64_t kLongestExample = 256;   // tokens, as make_head_examples has it
constexpr int64_t kTrainingTokens = 1024;  // of a batch
constexpr int64_t kTrainingCases = 64;     // of a batch of a generated task
constexpr int64_t kMeasuredLines = 20;     // one of so many

// Lines with other words hidden in each batch.
class HiddenWordsTask : public train::Task {
 public:
  HiddenWordsTask(std::vector<std::vector<int64_t>> lines, data::HiddenWords hidden, uint64_t seed)
      : lines_(std::move(lines)), hidden_(std::move(hidden)), seed_(seed) {
    int64_t tokens = 0;
    for (const auto& line : lines_) tokens += static_cast<int64_t>(line.size());
    const int64_t length = std::max<int64_t>(1, tokens / static_cast<int64_t>(lines_.size()));
    rows_ = static_cast<uint64_t>(std::max<int64_t>(1, kTrainingTokens / length));
  }

  Batch batch(int64_t number) override {
    const auto key = static_cast<uint64_t>(number);
    const base::Random random(base::mix(base::mix(seed_, key), base::name_key("lines of a batch")));
    std::vector<Batch> rows;
    for (uint64_t i = 0; i < rows_; ++i) {
      const auto& line = lines_[static_cast<size_t>(random.below(i, lines_.size()))];
      rows.push_back(masked_example(line, hidden_, seed_, key * rows_ + i));
    }
    return heads::joined(rows);
  }
  int64_t validation_batches() const override { return 0; }
  Batch validation_batch(int64_t /*index*/) const override { return {}; }

 private:
  std::vector<std::vector<int64_t>> lines_;
  data::HiddenWords hidden_;
  uint64_t seed_;
  uint64_t rows_ = 1;
};

// Rows of the same length, drawn for each batch.
class DrawnRowsTask : public train::Task {
 public:
  DrawnRowsTask(std::vector<Batch> rows, uint64_t seed) : rows_(std::move(rows)), seed_(seed) {
    count_ =
        static_cast<uint64_t>(std::max<int64_t>(1, kTrainingTokens / rows_.front().ids.size(1)));
  }

  Batch batch(int64_t number) override {
    const base::Random random(base::mix(base::mix(seed_, static_cast<uint64_t>(number)),
                                        base::name_key("rows of a batch")));
    std::vector<Batch> rows;
    for (uint64_t i = 0; i < count_; ++i)
      rows.push_back(rows_[static_cast<size_t>(random.below(i, rows_.size()))]);
    return heads::joined(rows);
  }
  int64_t validation_batches() const override { return 0; }
  Batch validation_batch(int64_t /*index*/) const override { return {}; }

 private:
  std::vector<Batch> rows_;
  uint64_t seed_;
  uint64_t count_ = 1;
};

class PruningDataMaker {
 public:
  PruningDataMaker(base::FileSystem& files, const LoadedModel& loaded,
                   const ExamplesRequest& request)
      : files_(files), loaded_(loaded), model_(*loaded.model), request_(request) {
    most_ = request.examples > 0 ? request.examples : kDefaultExamples;
    longest_ = std::min(model_.context_length(), kLongestExample);
  }

  PruningData make() {
    PruningData made{.task = examples_task(files_, loaded_, request_)};
    if (!request_.ids.empty()) {
      of_ids(made);
    } else if (made.task == "lm") {
      of_text(made);
    } else if (made.task == "mlm") {
      of_hidden_words(made);
    } else if (made.task == "translate") {
      of_pairs(made);
    } else {
      of_generated(made);
    }
    return made;
  }

 private:
  std::string data_text() const {
    if (request_.data.empty()) {
      throw base::Error(
          base::ErrorKind::usage, "data", "",
          "is missing: a text to choose heads by (--data PATH), or a task that makes its own "
          "(--task NAME)");
    }
    return text::read_text(files_, request_.data, request_.encoding);
  }

  std::vector<int64_t> drawn(int64_t count) const {
    return drawn_indices(count, most_, request_.seed);
  }

  // Examples of similar length share batches.
  static heads::Examples sorted_batches(std::vector<Batch> rows) {
    std::ranges::stable_sort(rows, {}, [](const Batch& row) {
      return std::pair(row.ids.size(1), row.source_ids.defined() ? row.source_ids.size(1) : 0);
    });
    return heads::batched(rows);
  }

  heads::Examples windows_of(const data::TokenStream& tokens, const std::string& name) const {
    const data::ValidationWindows windows(tokens, longest_, name);
    std::vector<Batch> rows;
    for (const int64_t i : drawn(windows.window_count())) {
      const data::LmBatch batch = windows.batch(i, 1);
      rows.push_back({.ids = batch.ids.slice(1, 0, batch.target_count).contiguous(),
                      .targets = batch.targets.slice(1, 0, batch.target_count).contiguous()});
    }
    return sorted_batches(std::move(rows));
  }

  void of_text(PruningData& made) const {
    const std::string text = data_text();
    const data::TextSplit split = data::split_text(text);
    const text::Tokenizer tokenizer = need_tokenizer(files_, loaded_);
    const std::string last = "last tenth of " + request_.data;
    const data::TokenStream tokens = data::tokenize(tokenizer, split.train, request_.data);
    made.chosen_by = windows_of(tokens, request_.data);
    data::TokenStream measured = data::tokenize(tokenizer, split.valid, last);
    made.measured_on = windows_of(measured, last);
    const int64_t window = std::min(longest_, tokens.size() - 1);
    made.training = train::lm_task(data::TrainingWindows(tokens, window, request_.data),
                                   data::ValidationWindows(std::move(measured), longest_, last),
                                   std::max<int64_t>(1, kTrainingTokens / window), request_.seed);
  }

  void of_ids(PruningData& made) const {
    std::vector<Batch> training;
    std::vector<Batch> measured;
    int64_t number = 0;
    for (Batch& row : id_examples(files_, loaded_, request_))
      (++number % kMeasuredLines == 0 ? measured : training).push_back(std::move(row));
    if (measured.empty()) {
      base::refuse("ids", request_.ids,
                   "has " + std::to_string(number) + " rows, " + std::to_string(kMeasuredLines) +
                       " are needed: every 20th is measured on");
    }
    made.chosen_by = drawn_rows(training);
    made.measured_on = drawn_rows(measured);
    if (!request_.targets.empty()) made.metric = heads::exact_match_metric();
    made.training = std::make_unique<DrawnRowsTask>(std::move(training), request_.seed);
  }

  heads::Examples drawn_rows(const std::vector<Batch>& all) const {
    std::vector<Batch> rows;
    for (const int64_t i : drawn(static_cast<int64_t>(all.size())))
      rows.push_back(all[static_cast<size_t>(i)]);
    return sorted_batches(std::move(rows));
  }

  void of_hidden_words(PruningData& made) const {
    const text::Tokenizer tokenizer = need_tokenizer(files_, loaded_);
    const data::HiddenWords hidden = data::hidden_words(tokenizer, loaded_.folder);
    std::vector<std::vector<int64_t>> training;
    std::vector<std::vector<int64_t>> measured;
    int64_t number = 0;
    for (const NumberedLine& line : numbered_lines(data_text())) {
      auto& part = ++number % kMeasuredLines == 0 ? measured : training;
      part.push_back(framed_ids(tokenizer, line.text, longest_));
    }
    if (measured.empty()) {
      base::refuse("data", request_.data,
                   "has " + std::to_string(number) + " lines with words, " +
                       std::to_string(kMeasuredLines) + " are needed: every 20th is measured on");
    }
    made.chosen_by = hidden_examples(training, hidden);
    made.measured_on = hidden_examples(measured, hidden);
    made.training = std::make_unique<HiddenWordsTask>(std::move(training), hidden, request_.seed);
  }

  heads::Examples hidden_examples(const std::vector<std::vector<int64_t>>& lines,
                                  const data::HiddenWords& hidden) const {
    std::vector<Batch> rows;
    for (const int64_t i : drawn(static_cast<int64_t>(lines.size())))
      rows.push_back(masked_example(lines[static_cast<size_t>(i)], hidden, request_.seed,
                                    static_cast<uint64_t>(i)));
    return sorted_batches(std::move(rows));
  }

  void of_pairs(PruningData& made) const {
    const text::Tokenizer tokenizer = need_tokenizer(files_, loaded_);
    const data::SequenceIds ids = decoder_ids(model_, loaded_.folder);
    const data::PairSplit split =
        data::split_pairs(data::parse_pairs(data_text(), request_.data), request_.data);
    data::PairSet training = encoded(tokenizer, split.train);
    data::PairSet measured = encoded(tokenizer, split.valid);
    made.chosen_by = pair_examples(training, ids);
    made.measured_on = pair_examples(measured, ids);
    made.training = train::pair_task(
        data::PairBatches(std::move(training),
                          {.batch_tokens = kTrainingTokens, .ids = ids, .seed = request_.seed},
                          request_.data),
        std::move(measured), ids);
  }

  data::PairSet encoded(const text::Tokenizer& tokenizer,
                        const std::vector<data::Pair>& pairs) const {
    data::PairSet set = data::encode_pairs(tokenizer, tokenizer, pairs, request_.data);
    for (int64_t i = 0; i < set.size(); ++i) {
      const int64_t longest = std::max(set.source_length(i), set.target_length(i) + 1);
      if (longest <= model_.context_length()) continue;
      base::refuse("pairs",
                   request_.data + ":" + std::to_string(pairs[static_cast<size_t>(i)].line),
                   "has " + std::to_string(longest) + " tokens, the model's context is " +
                       std::to_string(model_.context_length()));
    }
    return set;
  }

  heads::Examples pair_examples(const data::PairSet& pairs, const data::SequenceIds& ids) const {
    std::vector<Batch> rows;
    for (const int64_t i : drawn(pairs.size()))
      rows.push_back(pair_example(pairs.source(i), pairs.target(i), ids));
    return sorted_batches(std::move(rows));
  }

  void of_generated(PruningData& made) const {
    HeadExamples held_out = make_head_examples(files_, loaded_, request_);
    made.measured_on = std::move(held_out.batches);
    made.metric = std::move(held_out.metric);
    made.generated = data::generated_task(made.task);
    made.training = train::generated_task(*made.generated, kTrainingCases, request_.seed, 1);
    const uint64_t seed = base::mix(request_.seed, base::name_key("cases that choose"));
    const auto cases = train::generated_task(*made.generated, kTrainingCases, seed, 1);
    std::vector<Batch> rows;
    for (int64_t number = 0; static_cast<int64_t>(rows.size()) < most_; ++number) {
      const Batch batch = cases->batch(number);
      for (int64_t b = 0; b < batch.ids.size(0) && static_cast<int64_t>(rows.size()) < most_; ++b)
        rows.push_back(heads::example_at(batch, b));
    }
    made.chosen_by = sorted_batches(std::move(rows));
  }

  base::FileSystem& files_;
  const LoadedModel& loaded_;
  const models::Model& model_;
  const ExamplesRequest& request_;
  int64_t most_ = 0;
  int64_t longest_ = 0;
};

}  // namespace

PruningData make_pruning_data(base::FileSystem& files, const LoadedModel& loaded,
                              const ExamplesRequest& request) {
  return PruningDataMaker(files, loaded, request).make();
}

heads::FineTuning fine_tuning(base::ThreadPool& threads, train::Task& task,
                              const FineTuneOptions& options) {
  return [&threads, &task, options](models::Model& model, const heads::Watch& watch) {
    constexpr double kRateOfWidth = 0.064;
    const double rate = options.learning_rate > 0
                            ? options.learning_rate
                            : kRateOfWidth / static_cast<double>(model.hidden_width());
    train::Trainer trainer(threads, model, task,
                           {.optimizer = {.learning_rate = rate, .weight_decay = 0, .grad_clip = 1},
                            .schedule = {.kind = optim::ScheduleKind::cosine,
                                         .learning_rate = rate,
                                         .min_learning_rate = rate / 10,
                                         .warmup_iters = options.steps / 10,
                                         .lr_decay_iters = options.steps},
                            .seed = options.seed});
    for (int64_t step = 0; step < options.steps; ++step) {
      if (watch.stops()) return false;
      trainer.step();
      watch.tell(step + 1, options.steps);
    }
    return true;
  };
}

}  // namespace headlight::recipes
