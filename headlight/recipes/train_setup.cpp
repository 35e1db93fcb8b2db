// Building what a run works with.
#include "headlight/recipes/train_setup.h"

#include <algorithm>
#include <array>

#include "headlight/recipes/starting_model.h"

namespace headlight::recipes {
namespace {

using base::Error;
using base::ErrorKind;

constexpr int64_t kHeldOutCases = 500;  // of each kind, for the validation loss
constexpr size_t kSamples = 3;

std::string counts_text(int64_t training, int64_t validation) {
  return std::to_string(training) + " tokens to train on, " + std::to_string(validation) +
         " to validate";
}

template <class Tokens>
std::string sum_of(const Tokens& training, const Tokens& validation) {
  train::Checksum sum;
  sum.add(training);
  sum.add(validation);
  return sum.text();
}

// Few letters, and no more tokens than leave room for an answer.
bool is_short_prompt(const std::string& prompt, const text::Tokenizer& tokenizer, int64_t context) {
  constexpr int64_t kLongest = 24;
  return text::columns(prompt) <= kLongest &&
         std::ssize(tokenizer.encode(prompt)) <= std::max<int64_t>(1, context / 2);
}

// The letters at a word's beginning that are a short prompt, one at least.
std::string beginning_of(std::string_view word, const text::Tokenizer& tokenizer, int64_t context) {
  size_t end = text::code_point_at(word, 0).length;
  while (end < word.size()) {
    const size_t next = end + text::code_point_at(word, end).length;
    if (!is_short_prompt(std::string(word.substr(0, next)), tokenizer, context)) break;
    end = next;
  }
  return std::string(word.substr(0, end));
}

// The first words of a text that are a short prompt, or as much of the first as is.
std::string prompt_from(std::string_view text, const text::Tokenizer& tokenizer, int64_t context) {
  std::string prompt;
  for (const std::string& line : split_words(text.substr(0, text.find('\n', 1 << 12)), '\n')) {
    for (const std::string_view word : text::words(line)) {
      const std::string longer = prompt + (prompt.empty() ? "" : " ") + std::string(word);
      if (!is_short_prompt(longer, tokenizer, context))
        return prompt.empty() ? beginning_of(word, tokenizer, context) : prompt;
      prompt = longer;
    }
    if (!prompt.empty()) break;
  }
  return prompt;
}

// A sentence that fits on a line, if there is one.
std::string short_source(const std::vector<data::Pair>& pairs) {
  constexpr int64_t kLongest = 40;
  const auto found = std::ranges::find_if(pairs, [](const data::Pair& pair) {
    return !pair.source.empty() && text::columns(pair.source) <= kLongest;
  });
  if (found != pairs.end()) return found->source;
  return pairs.empty() ? "" : pairs.front().source;
}

// A text to train on and one to validate on: two files, or parts of one.
class TextParts {
 public:
  TextParts(base::FileSystem& files, const TrainSettings& s)
      : text_(text::read_text(files, s.data, s.encoding)),
        other_(s.valid.empty() ? "" : text::read_text(files, s.valid, s.encoding)),
        valid_name_(s.valid.empty() ? "last tenth of " + s.data : s.valid) {
    if (text_.empty()) throw Error(ErrorKind::bad_input, "data", s.data, "is empty");
    split_ = s.valid.empty() ? data::split_text(text_) : data::TextSplit{text_, other_};
  }
  TextParts(const TextParts&) = delete;
  TextParts& operator=(const TextParts&) = delete;

  std::string_view training() const { return split_.train; }
  std::string_view validation() const { return split_.valid; }
  const std::string& valid_name() const { return valid_name_; }

 private:
  std::string text_, other_, valid_name_;
  data::TextSplit split_;
};

// Gives the setup its tokenizer and, where one is named, its model; returns how many tokens windows
// have.
int64_t start_on_texts(base::FileSystem& files, const TrainSettings& s, const GivenValues& values,
                       const TextParts& parts, const std::vector<std::string>& special,
                       TrainSetup& setup) {
  setup.tokenizer = starting_tokenizer(files, s,
                                       {.training = {parts.training()},
                                        .all = {parts.training(), parts.validation()},
                                        .special = special});
  if (s.init.empty()) return s.block_size;
  setup.model = initial_model(files, s, *setup.tokenizer);
  const int64_t context = setup.model->context_length();
  if (s.block_size > context) {
    throw Error(ErrorKind::bad_input, "block_size", std::to_string(s.block_size),
                "the model of " + values.key_text("init") + " reads " + std::to_string(context) +
                    " tokens");
  }
  return s.block_size == 0 ? context : s.block_size;
}

// What windows of either kind have in common, once the tokens are known; and a model where none
// was named.
template <class Training, class Validation>
void finish_on_texts(base::FileSystem& files, const TrainSettings& s, const TextParts& parts,
                     int64_t block, const Training& training, const Validation& validation,
                     TrainSetup& setup) {
  if (!setup.model) {
    setup.model =
        fresh_model(files, s, *setup.tokenizer, {.context = block, .tokens = s.batch_size * block});
  }
  setup.example = prompt_from(parts.training(), *setup.tokenizer, block);
  setup.train_tokens = training.tokens().size();
  setup.epoch_steps = static_cast<double>(setup.train_tokens) /
                      static_cast<double>(s.batch_size * block * s.gradient_accumulation_steps);
  setup.data_text = counts_text(training.tokens().size(), validation.target_count());
  setup.data_sum = sum_of(training.tokens(), validation.tokens());
}

TrainSetup lm_setup(base::FileSystem& files, const TrainSettings& s, const GivenValues& values) {
  const TextParts parts(files, s);
  TrainSetup setup;
  const int64_t block = start_on_texts(files, s, values, parts, {}, setup);
  data::TrainingWindows training(data::tokenize(*setup.tokenizer, parts.training(), s.data), block,
                                 s.data);
  data::ValidationWindows validation(
      data::tokenize(*setup.tokenizer, parts.validation(), parts.valid_name()), block,
      parts.valid_name());
  finish_on_texts(files, s, parts, block, training, validation, setup);
  setup.task = train::lm_task(std::move(training), std::move(validation), s.batch_size,
                              static_cast<uint64_t>(s.seed));
  return setup;
}

TrainSetup mlm_setup(base::FileSystem& files, const TrainSettings& s, const GivenValues& values) {
  const TextParts parts(files, s);
  TrainSetup setup;
  const int64_t block = start_on_texts(files, s, values, parts, text::masked_tokens(), setup);
  const data::MaskedWindowOptions options =
      data::masked_window_options(*setup.tokenizer, block, s.init.empty() ? s.tokenizer : s.init);
  data::MaskedTrainingWindows training(data::tokenize(*setup.tokenizer, parts.training(), s.data),
                                       options, s.data);
  data::MaskedValidationWindows validation(
      data::tokenize(*setup.tokenizer, parts.validation(), parts.valid_name()), options,
      parts.valid_name());
  finish_on_texts(files, s, parts, block, training, validation, setup);
  setup.task = train::mlm_task(std::move(training), std::move(validation), s.batch_size,
                               static_cast<uint64_t>(s.seed));
  return setup;
}

std::vector<data::Pair> read_pairs(base::FileSystem& files, const TrainSettings& s,
                                   const std::string& path) {
  return data::parse_pairs(text::read_text(files, path, s.encoding), path);
}

data::PairSplit split_of(base::FileSystem& files, const TrainSettings& s) {
  std::vector<data::Pair> pairs;
  if (s.source.empty()) {
    pairs = read_pairs(files, s, s.data);
  } else {
    const std::string source = text::read_text(files, s.source, s.encoding);
    const std::string target = text::read_text(files, s.target, s.encoding);
    pairs = data::align_pairs({source, s.source}, {target, s.target});
  }
  if (!s.valid.empty()) return {std::move(pairs), read_pairs(files, s, s.valid)};
  return data::split_pairs(std::move(pairs), s.source.empty() ? s.data : s.source);
}

std::vector<std::string_view> both_sides(const std::vector<data::Pair>& pairs) {
  std::vector<std::string_view> texts;
  for (const data::Pair& pair : pairs) {
    texts.push_back(pair.source);
    texts.push_back(pair.target);
  }
  return texts;
}

int64_t longest_of(const data::PairSet& pairs) {
  return std::max(pairs.longest_source(), pairs.longest_target() + 1);
}

// batch_size sentences are so many tokens on average.
int64_t tokens_of_batch(const TrainSettings& s, const data::PairSet& pairs) {
  if (s.batch_tokens > 0) return s.batch_tokens;
  int64_t tokens = 0;
  for (int64_t i = 0; i < pairs.size(); ++i)
    tokens += std::max(pairs.source_length(i), pairs.target_length(i) + 1);
  return std::max<int64_t>(1, s.batch_size * tokens / std::max<int64_t>(1, pairs.size()));
}

// As the model has them; one that is made here has the tokenizer's.
data::SequenceIds sequence_ids(const models::Model& model, const text::Tokenizer& tokenizer,
                               const std::string& name) {
  const models::SpecialIds& model_ids = model.special_ids();
  const text::SpecialIds& token_ids = tokenizer.special();
  const auto pad = model_ids.padding ? model_ids.padding : token_ids.pad;
  const auto start = model_ids.decoder_start ? model_ids.decoder_start : token_ids.bos;
  const auto end = model_ids.end ? model_ids.end : token_ids.eos;
  if (pad && start && end) return {*pad, *start, *end};
  throw Error(ErrorKind::bad_input, "tokenizer", name,
              "translation needs tokens for padding, start and end");
}

TrainSetup translate_setup(base::FileSystem& files, const TrainSettings& s) {
  const data::PairSplit split = split_of(files, s);
  const std::vector<std::string_view> training_texts = both_sides(split.train);
  std::vector<std::string_view> all = training_texts;
  for (const std::string_view text : both_sides(split.valid)) all.push_back(text);
  TrainSetup setup;
  setup.tokenizer = starting_tokenizer(
      files, s, {.training = training_texts, .all = all, .special = text::sequence_tokens()});
  const text::Tokenizer& tokenizer = *setup.tokenizer;
  const std::string name = s.source.empty() ? s.data : s.source;
  data::PairSet training = data::encode_pairs(tokenizer, tokenizer, split.train, name);
  data::PairSet validation =
      data::encode_pairs(tokenizer, tokenizer, split.valid, s.valid.empty() ? name : s.valid);
  const int64_t batch_tokens = tokens_of_batch(s, training);
  setup.model = pair_model(files, s, tokenizer,
                           std::max(longest_of(training), longest_of(validation)), batch_tokens);
  const data::SequenceIds ids =
      sequence_ids(*setup.model, tokenizer, s.init.empty() ? s.tokenizer : s.init);
  setup.example = short_source(split.train);
  setup.train_tokens = training.source_tokens() + training.target_tokens();
  setup.epoch_steps = static_cast<double>(data::sorted_batches(training, batch_tokens).size()) /
                      static_cast<double>(s.gradient_accumulation_steps);
  setup.data_text =
      counts_text(setup.train_tokens, validation.source_tokens() + validation.target_tokens());
  setup.data_sum = sum_of(training, validation);
  for (size_t i = 0; i < std::min(kSamples, split.valid.size()); ++i)
    setup.samples.push_back(split.valid[i * (split.valid.size() / kSamples)]);
  const data::PairBatchOptions options{
      .batch_tokens = batch_tokens, .ids = ids, .seed = static_cast<uint64_t>(s.seed)};
  setup.task = train::pair_task(data::PairBatches(std::move(training), options, name),
                                std::move(validation), ids);
  return setup;
}

// Held-out cases of different forms, where there are several.
std::vector<data::Pair> held_out_samples(const data::GeneratedTask& task) {
  const std::vector<data::TaskCases> forms = task.held_out(static_cast<int64_t>(kSamples));
  std::vector<data::Pair> samples;
  for (size_t i = 0; i < kSamples && !forms.empty(); ++i) {
    const data::PairSet& pairs = forms[i * forms.size() / kSamples].pairs;
    const auto pair = static_cast<int64_t>(i);
    if (pair >= pairs.size()) continue;
    samples.push_back(
        {task.tokenizer().decode(pairs.source(pair)), task.tokenizer().decode(pairs.target(pair))});
  }
  return samples;
}

TrainSetup generated_setup(base::FileSystem& files, const TrainSettings& s) {
  TrainSetup setup;
  setup.generated = data::generated_task(s.task);
  setup.tokenizer = setup.generated->tokenizer();
  const int64_t longest =
      std::max(setup.generated->longest_source(), setup.generated->longest_target() + 1);
  setup.model = pair_model(files, s, *setup.tokenizer, longest, s.batch_size * longest);
  setup.example = setup.tokenizer->decode(setup.generated->held_out(1).front().pairs.source(0));
  setup.samples = held_out_samples(*setup.generated);
  setup.data_text = "examples made as they are needed";
  setup.data_sum = setup.generated->data_name();
  setup.task = train::generated_task(*setup.generated, s.batch_size, static_cast<uint64_t>(s.seed),
                                     kHeldOutCases);
  return setup;
}

}  // namespace

TrainSetup make_train_setup(base::FileSystem& files, const TrainSettings& settings,
                            const GivenValues& values) {
  if (settings.is_generated()) return generated_setup(files, settings);
  if (settings.task == "lm") return lm_setup(files, settings, values);
  if (settings.task == "mlm") return mlm_setup(files, settings, values);
  return translate_setup(files, settings);
}

train::TrainerOptions trainer_options(const TrainSettings& s, const models::Model& model) {
  using optim::OptimizerKind;
  using optim::ScheduleKind;
  constexpr std::array<std::pair<std::string_view, ScheduleKind>, 4> kSchedules = {
      {{"cosine", ScheduleKind::cosine},
       {"noam", ScheduleKind::noam},
       {"inverse_sqrt", ScheduleKind::inverse_sqrt},
       {"constant", ScheduleKind::constant}}};
  const auto schedule =
      std::ranges::find(kSchedules, s.schedule, &std::pair<std::string_view, ScheduleKind>::first);
  return {.optimizer = {.kind = s.optimizer == "adamw"  ? OptimizerKind::adamw
                                : s.optimizer == "adam" ? OptimizerKind::adam
                                                        : OptimizerKind::sgd,
                        .learning_rate = s.learning_rate,
                        .beta1 = s.beta1,
                        .beta2 = s.beta2,
                        .momentum = s.beta1,
                        .weight_decay = s.weight_decay,
                        .grad_clip = s.grad_clip},
          .schedule = {.kind = schedule->second,
                       .learning_rate = s.learning_rate,
                       .min_learning_rate = s.min_lr,
                       .warmup_iters = s.warmup_iters,
                       .lr_decay_iters = s.lr_decay_iters,
                       .d_model = model.hidden_width()},
          .accumulation = s.gradient_accumulation_steps,
          .label_smoothing = static_cast<float>(s.label_smoothing),
          .seed = static_cast<uint64_t>(s.seed),
          .shards = s.shards};
}

}  // namespace headlight::recipes
