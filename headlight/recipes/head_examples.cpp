// Examples drawn by seed, from data, from arrays or from a generated task.
#include "headlight/recipes/head_examples.h"

#include <algorithm>
#include <numeric>

#include "headlight/recipes/id_arrays.h"
#include "headlight/recipes/task_sources.h"
#include "headlight/recipes/train_settings.h"
#include "headlight/recipes/typed_words.h"

namespace headlight::recipes {
namespace {

using base::Error;
using base::ErrorKind;
using models::Batch;
using tensor::Tensor;

constexpr int64_t kLongestWindow = 256;

Tensor row_of(const std::vector<int64_t>& ids) {
  return Tensor::of({1, static_cast<int64_t>(ids.size())}, ids);
}

std::vector<int64_t> special_tokens_of(const text::Tokenizer& tokenizer, int64_t ids) {
  std::vector<int64_t> special;
  for (int64_t id = 0; id < ids; ++id) {
    if (id >= tokenizer.size() || tokenizer.is_special(id)) special.push_back(id);
  }
  if (const auto unknown = tokenizer.special().unk) special.push_back(*unknown);
  return special;
}

// What stands before and after a text.
struct FrameIds {
  std::vector<int64_t> before;
  std::vector<int64_t> after;
};

FrameIds frame_of(const text::Tokenizer& tokenizer, const std::string& line) {
  const std::vector<int64_t> plain = tokenizer.encode(line);
  const std::vector<int64_t> framed = tokenizer.encode(line, {.framed = true});
  const auto at = std::search(framed.begin(), framed.end(), plain.begin(), plain.end());
  if (at == framed.end() && !plain.empty()) return {};
  return {{framed.begin(), at}, {at + std::ssize(plain), framed.end()}};
}

class ExampleMaker {
 public:
  ExampleMaker(base::FileSystem& files, const LoadedModel& loaded, const ExamplesRequest& request)
      : files_(files), loaded_(loaded), model_(*loaded.model), request_(request) {
    most_ = request.examples > 0 ? request.examples : kDefaultExamples;
  }

  HeadExamples make(const std::string& task) {
    HeadExamples made{.task = task};
    std::vector<Batch> rows = is_generated_task(task) ? of_task(task, made)
                              : !request_.ids.empty() ? of_ids(made)
                              : task == "lm"          ? of_text(made)
                              : task == "mlm"         ? of_hidden_words(made)
                                                      : of_pairs(made);
    // Examples of similar length share batches, so that little is padding.
    std::ranges::stable_sort(rows, {}, [](const Batch& row) {
      return std::pair(row.ids.size(1), row.source_ids.defined() ? row.source_ids.size(1) : 0);
    });
    made.batches = heads::batched(rows);
    return made;
  }

 private:
  std::string data_text() const {
    if (request_.data.empty()) {
      throw Error(ErrorKind::usage, "data", "",
                  "is missing: a text to measure heads on (--data PATH), or a task that makes its "
                  "own (--task NAME)");
    }
    return text::read_text(files_, request_.data, request_.encoding);
  }

  void avoid_special(const text::Tokenizer& tokenizer, HeadExamples& made) const {
    made.made.avoid = special_tokens_of(tokenizer, model_.vocab_size());
    made.source.avoid = special_tokens_of(tokenizer, model_.source_vocab_size());
  }

  std::vector<Batch> of_text(HeadExamples& made) const {
    const std::string text = data_text();
    const text::Tokenizer tokenizer = need_tokenizer(files_, loaded_);
    avoid_special(tokenizer, made);
    const data::TokenStream tokens = data::tokenize(tokenizer, text, request_.data);
    const int64_t window = std::min(model_.context_length(), kLongestWindow);
    const data::ValidationWindows windows(tokens, window, request_.data);
    std::vector<Batch> rows;
    for (const int64_t i : drawn_indices(windows.window_count(), most_, request_.seed)) {
      const data::LmBatch batch = windows.batch(i, 1);
      const int64_t length = batch.target_count;
      rows.push_back({.ids = batch.ids.slice(1, 0, length).contiguous(),
                      .targets = batch.targets.slice(1, 0, length).contiguous()});
    }
    return rows;
  }

  std::vector<Batch> of_ids(HeadExamples& made) const {
    if (const auto tokenizer = find_tokenizer(files_, loaded_)) avoid_special(*tokenizer, made);
    if (!request_.targets.empty()) made.metric = heads::exact_match_metric();
    const std::vector<Batch> all = id_examples(files_, loaded_, request_);
    std::vector<Batch> rows;
    for (const int64_t i : drawn_indices(static_cast<int64_t>(all.size()), most_, request_.seed))
      rows.push_back(all[static_cast<size_t>(i)]);
    return rows;
  }

  std::vector<Batch> of_hidden_words(HeadExamples& made) const {
    const std::string text = data_text();
    const text::Tokenizer tokenizer = need_tokenizer(files_, loaded_);
    avoid_special(tokenizer, made);
    const data::HiddenWords hidden = data::hidden_words(tokenizer, loaded_.folder);
    const std::vector<NumberedLine> lines = numbered_lines(text);
    if (lines.empty()) base::refuse("data", request_.data, "has no lines with words");
    const FrameIds frame = frame_of(tokenizer, lines.front().text);
    made.made.before = frame.before;
    made.made.after = frame.after;
    std::vector<Batch> rows;
    for (const int64_t i :
         drawn_indices(static_cast<int64_t>(lines.size()), most_, request_.seed)) {
      const std::vector<int64_t> ids =
          framed_ids(tokenizer, lines[static_cast<size_t>(i)].text,
                     std::min(model_.context_length(), kLongestWindow));
      if (!ids.empty())
        rows.push_back(masked_example(ids, hidden, request_.seed, static_cast<uint64_t>(i)));
    }
    return rows;
  }

  std::vector<Batch> of_pairs(HeadExamples& made) const {
    const std::string text = data_text();
    const text::Tokenizer tokenizer = need_tokenizer(files_, loaded_);
    avoid_special(tokenizer, made);
    const data::SequenceIds ids = decoder_ids(model_, loaded_.folder);
    const std::vector<data::Pair> pairs = data::parse_pairs(text, request_.data);
    const data::PairSet set = data::encode_pairs(tokenizer, tokenizer, pairs, request_.data);
    std::vector<Batch> rows;
    for (const int64_t i : drawn_indices(set.size(), most_, request_.seed)) {
      check_length(set, i, pairs[static_cast<size_t>(i)].line);
      rows.push_back(pair_example(set.source(i), set.target(i), ids));
    }
    return rows;
  }

  void check_length(const data::PairSet& set, int64_t pair, int64_t line) const {
    const int64_t longest = std::max(set.source_length(pair), set.target_length(pair) + 1);
    if (longest <= model_.context_length()) return;
    base::refuse("pairs", request_.data + ":" + std::to_string(line),
                 "has " + std::to_string(longest) + " tokens, the model's context is " +
                     std::to_string(model_.context_length()));
  }

  std::vector<Batch> of_task(const std::string& name, HeadExamples& made) const {
    const auto task = data::generated_task(name);
    const int64_t tokens = task->tokenizer().size();
    if (model_.source_vocab_size() != tokens) {
      base::refuse("model", loaded_.folder,
                   "task " + name + " has " + std::to_string(tokens) + " tokens, the model " +
                       std::to_string(model_.source_vocab_size()));
    }
    const int64_t longest = std::max(task->longest_source(), task->longest_target() + 1);
    if (longest > model_.context_length()) {
      base::refuse("model", loaded_.folder,
                   "task " + name + " has sequences of " + std::to_string(longest) +
                       " tokens, the model's context is " +
                       std::to_string(model_.context_length()));
    }
    avoid_special(task->tokenizer(), made);
    made.metric = heads::exact_match_metric();
    std::vector<Batch> cases;
    for (const data::TaskCases& form : task->held_out(most_)) {
      for (int64_t i = 0; i < form.pairs.size(); ++i)
        cases.push_back(pair_example(form.pairs.source(i), form.pairs.target(i), task->ids()));
    }
    std::vector<Batch> rows;
    for (const int64_t i :
         drawn_indices(static_cast<int64_t>(cases.size()), most_, request_.seed)) {
      rows.push_back(cases[static_cast<size_t>(i)]);
    }
    return rows;
  }

  base::FileSystem& files_;
  const LoadedModel& loaded_;
  const models::Model& model_;
  const ExamplesRequest& request_;
  int64_t most_ = 0;
};

// What a model must be able to do for a task.
bool can_do(const models::Capabilities& can, const std::string& task) {
  if (task == "lm") return can.continues_prompt;
  return task == "mlm" ? can.fills_masks : can.translates;
}

}  // namespace

heads::BehaviourOptions made_sequences(const models::Model& model,
                                       const text::Tokenizer& tokenizer) {
  heads::BehaviourOptions options;
  options.made.avoid = special_tokens_of(tokenizer, model.vocab_size());
  options.source.avoid = special_tokens_of(tokenizer, model.source_vocab_size());
  if (!model.capabilities().fills_masks) return options;
  // Any word that there is shows what stands around it.
  for (int64_t id = 0; id < tokenizer.size(); ++id) {
    if (tokenizer.is_special(id) || id == tokenizer.special().unk) continue;
    const FrameIds frame = frame_of(tokenizer, tokenizer.decode(std::vector<int64_t>{id}));
    if (frame.before.empty() && frame.after.empty()) continue;
    options.made.before = frame.before;
    options.made.after = frame.after;
    break;
  }
  return options;
}

std::string examples_task(base::FileSystem& files, const LoadedModel& loaded,
                          const ExamplesRequest& request) {
  const models::Model& model = *loaded.model;
  if (!model.has_logits()) {
    base::refuse("model", loaded.folder,
                 "predicts no words, so there is nothing to measure its heads by");
  }
  const models::Capabilities can = model.capabilities();
  std::string task = request.task;
  if (task.empty() && request.data.empty() && request.ids.empty()) {
    task = generated_task_of(files, loaded.folder);
    if (task.empty()) {
      throw Error(ErrorKind::usage, "data", "",
                  "is missing: a text to measure heads on (--data PATH), or a task that makes its "
                  "own (--task NAME)");
    }
  }
  if (task.empty()) task = can.translates ? "translate" : can.continues_prompt ? "lm" : "mlm";
  if (std::ranges::find(kTasks, task) == std::end(kTasks)) {
    throw Error(
        ErrorKind::usage, "task", io::in_quotes(task),
        "is none of lm, mlm, translate, numbers, copy, reverse" + base::nearest_hint(task, kTasks));
  }
  if (can_do(can, task)) return task;
  base::refuse("model", loaded.folder,
               "is of type " + std::string(model.type()) + ", which task " + task + " is not for");
}

HeadExamples make_head_examples(base::FileSystem& files, const LoadedModel& loaded,
                                const ExamplesRequest& request) {
  const std::string task = examples_task(files, loaded, request);
  return ExampleMaker(files, loaded, request).make(task);
}

std::vector<Batch> id_examples(base::FileSystem& files, const LoadedModel& loaded,
                               const ExamplesRequest& request) {
  if (loaded.model->capabilities().translates) {
    base::refuse("model", loaded.folder,
                 "is an encoder-decoder, whose examples are pairs: give them as data");
  }
  const Tensor ids = read_ids(files, "ids", request.ids).ids;
  const int64_t length = ids.size(1);
  const bool predicts_next = request.targets.empty();
  if (predicts_next && (length < 2 || !loaded.model->capabilities().continues_prompt)) {
    base::refuse("ids", request.ids,
                 "shape is " + ids.shape().text() +
                     ", without targets rows of two ids or more are needed, and a model that "
                     "predicts the next");
  }
  const Tensor targets =
      predicts_next ? Tensor() : read_targets(files, "targets", request.targets, ids);
  std::vector<Batch> examples;
  for (int64_t row = 0; row < ids.size(0); ++row) {
    const int64_t* begin = ids.data<int64_t>() + row * length;
    std::vector<int64_t> next(begin + 1, begin + length);
    next.push_back(-1);
    examples.push_back(
        {.ids = ids.slice(0, row, 1).contiguous(),
         .targets = predicts_next ? row_of(next) : targets.slice(0, row, 1).contiguous()});
  }
  return examples;
}

Batch pair_example(const std::vector<int64_t>& source, const std::vector<int64_t>& target,
                   const data::SequenceIds& ids) {
  std::vector<int64_t> read = {ids.start};
  read.insert(read.end(), target.begin(), target.end());
  std::vector<int64_t> written = target;
  written.push_back(ids.end);
  return {.ids = row_of(read), .source_ids = row_of(source), .targets = row_of(written)};
}

Batch masked_example(std::vector<int64_t> ids, const data::HiddenWords& hidden, uint64_t seed,
                     uint64_t number) {
  std::vector<int64_t> targets(ids.size());
  data::hide_words(hidden, base::mix(seed, base::mix(number, base::name_key("hidden words"))), ids,
                   targets);
  return {.ids = row_of(ids), .targets = row_of(targets)};
}

std::vector<int64_t> framed_ids(const text::Tokenizer& tokenizer, const std::string& line,
                                int64_t most) {
  std::vector<int64_t> ids = tokenizer.encode(line, {.framed = true});
  const auto size = static_cast<int64_t>(ids.size());
  if (size <= most) return ids;
  const auto after = static_cast<int64_t>(frame_of(tokenizer, line).after.size());
  const int64_t kept = std::max<int64_t>(0, most - after);
  ids.erase(ids.begin() + kept, ids.end() - std::min(after, most));
  return ids;
}

data::SequenceIds decoder_ids(const models::Model& model, const std::string& name) {
  const models::SpecialIds& ids = model.special_ids();
  if (ids.decoder_start && ids.end) return {ids.padding.value_or(0), *ids.decoder_start, *ids.end};
  base::refuse("model", name,
               "has no decoder_start_token_id and eos_token_id, which translations need");
}

std::vector<NumberedLine> numbered_lines(const std::string& text) {
  std::vector<NumberedLine> lines;
  int64_t number = 0;
  for (std::string& line : split_words(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (!text::words(line).empty()) lines.push_back({std::move(line), number});
  }
  return lines;
}

std::vector<int64_t> drawn_indices(int64_t count, int64_t most, uint64_t seed) {
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  if (count <= most) return indices;
  const base::Random random(base::mix(seed, base::name_key("examples")));
  for (size_t i = 0; i < static_cast<size_t>(most); ++i) {
    std::swap(indices[i], indices[i + random.below(i, indices.size() - i)]);
  }
  indices.resize(static_cast<size_t>(most));
  std::ranges::sort(indices);
  return indices;
}

}  // namespace headlight::recipes
