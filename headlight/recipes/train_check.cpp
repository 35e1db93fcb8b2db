// Contradictions between the keys of a run.
#include "headlight/recipes/train_check.h"

#include "headlight/base/base.h"
#include "headlight/io/io.h"

namespace headlight::recipes {
namespace {

using base::Error;
using base::ErrorKind;

// Tasks that make their data have none of these.
constexpr std::string_view kDataKeys[] = {"data",   "valid",    "source",
                                          "target", "encoding", "tokenizer"};

std::string instead_of_data(const GivenValues& values) {
  return "goes with " + values.key_text("task") + " translate and instead of " +
         values.key_text("data");
}

class SettingsCheck {
 public:
  SettingsCheck(const GivenValues& values, const TrainSettings& settings)
      : values_(values), s_(settings) {}

  void run() const {
    if (s_.task.empty())
      refuse("task",
             "is missing: " + values_.key_text("task") + " lm|translate|numbers|copy|reverse");
    check_data();
    check_tokenizer();
    if (s_.task == "lm") {
      check_gpt();
    } else {
      check_seq2seq();
    }
    check_numbers();
  }

 private:
  [[noreturn]] void refuse(std::string_view key, const std::string& why) const {
    throw Error(kind_of_wrong(values_, key), values_.source(key), "", why);
  }
  // What presets and an earlier start say is no mistake.
  void refuse_given(std::initializer_list<std::string_view> keys, const std::string& why) const {
    for (const std::string_view key : keys) {
      if (values_.has(key) && values_.level(key) <= Level::file) refuse(key, why);
    }
  }

  void check_data() const {
    if (s_.is_generated()) {
      for (const std::string_view key : kDataKeys) {
        if (values_.has(key)) refuse(key, "task " + s_.task + " makes its own data and tokens");
      }
      return;
    }
    if (s_.data.empty() && s_.source.empty() && s_.target.empty())
      refuse("data", "is missing: task " + s_.task + " reads text");
    if (s_.source.empty() != s_.target.empty())
      refuse(s_.source.empty() ? "target" : "source",
             values_.key_text("source") + " and " + values_.key_text("target") + " go together");
    if (!s_.source.empty() && (s_.task != "translate" || !s_.data.empty()))
      refuse("source", instead_of_data(values_));
  }

  void check_tokenizer() const {
    constexpr int64_t kSmallest = 260;  // all bytes and four special tokens
    if (!s_.tokenizer.starts_with("bpe:")) return;
    try {
      integer_of(values_.source("tokenizer") + " bpe:N", s_.tokenizer.substr(4),
                 {kSmallest, 1 << 20});
    } catch (const Error& error) {
      throw error.with_kind(kind_of_wrong(values_, "tokenizer"));
    }
  }

  void check_gpt() const {
    refuse_given({"n-encoder-layer", "n-decoder-layer"}, "task lm trains a GPT, which has n_layer");
    refuse_given({"batch-tokens"}, "task lm counts windows: batch_size");
    if (s_.norm == "post") refuse_given({"norm"}, "a GPT has its norms before: pre");
    if (s_.positions == "sinusoidal") refuse_given({"positions"}, "a GPT has learned ones");
  }

  void check_seq2seq() const {
    if (!s_.bias) refuse_given({"bias"}, "an encoder-decoder has biases");
    if (s_.is_generated())
      refuse_given({"batch-tokens"}, "task " + s_.task + " counts sequences: batch_size");
  }

  void check_numbers() const {
    if (s_.n_embd % s_.n_head != 0) {
      throw Error(ErrorKind::bad_input, "n_embd", std::to_string(s_.n_embd),
                  "is not a multiple of n_head " + std::to_string(s_.n_head) + "; n_head " +
                      base::nearest_divisors(s_.n_embd, s_.n_head) + " would do");
    }
    if (s_.learning_rate == 0) refuse("learning-rate", "must be more than 0");
    if (s_.min_lr > s_.learning_rate && s_.schedule == "cosine")
      refuse("min-lr", "is " + io::number_text(s_.min_lr) + ", more than learning_rate " +
                           io::number_text(s_.learning_rate));
  }

  const GivenValues& values_;
  const TrainSettings& s_;
};

// Keys that have no meaning for the task, where the task was given with more weight.
void drop_below_task(GivenValues& values, std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (values.has(key) && values.level(key) > values.level("task")) values.drop(key);
  }
}

// A task that is a mistake is told later.
void settle_task(GivenValues& values) {
  constexpr std::string_view kNotOfGpt[] = {
      "n-encoder-layer", "n-decoder-layer", "batch-tokens", "norm",
      "positions",       "source",          "target"};
  constexpr std::string_view kNotOfSeq2Seq[] = {"bias"};
  constexpr std::string_view kNotOfMadeUp[] = {"batch-tokens"};
  const auto task = values.text("task");
  if (!task) return;
  if (*task == "lm") return drop_below_task(values, kNotOfGpt);
  drop_below_task(values, kNotOfSeq2Seq);
  if (*task == "translate") return;
  drop_below_task(values, kDataKeys);
  drop_below_task(values, kNotOfMadeUp);
}

void settle_init(GivenValues& values) {
  const std::string why = "comes with the model of " + values.key_text("init");
  for (const std::string_view key :
       {"n-layer", "n-encoder-layer", "n-decoder-layer", "n-head", "n-embd", "d-ff", "dropout",
        "bias", "tie-embeddings", "norm", "positions", "activation", "tokenizer"}) {
    exclude(values, key, "init", why);
  }
  if (values.text("task") != "lm") exclude(values, "block-size", "init", why);
}

}  // namespace

void settle_train_values(GivenValues& values) {
  settle_task(values);
  for (const std::string_view key : {"source", "target"}) {
    exclude(values, key, "data", instead_of_data(values));
  }
  exclude(values, "batch-tokens", "batch-size");
  settle_init(values);
}

base::ErrorKind kind_of_wrong(const GivenValues& values, std::string_view key) {
  // What is missing is missing in the file that a run goes on by.
  const Level missing = values.has_any(Level::run) ? Level::run : Level::request;
  Level level = values.has(key) ? values.level(key) : missing;
  if (level == Level::preset && values.has("preset")) level = values.level("preset");
  return level == Level::file || level == Level::run ? ErrorKind::bad_input : ErrorKind::usage;
}

void check_train_settings(const GivenValues& values, const TrainSettings& settings) {
  SettingsCheck(values, settings).run();
}

}  // namespace headlight::recipes
