// Contradictions between the keys of a run.
#include "apps/cli/train_check.h"

#include "headlight/base/base.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

// Tasks that make their data have none of these.
constexpr std::string_view kDataKeys[] = {"data",   "valid",    "source",
                                          "target", "encoding", "tokenizer"};

class Check {
 public:
  Check(const Arguments& arguments, const TrainSettings& settings)
      : arguments_(arguments), s_(settings) {}

  void run() const {
    if (s_.task.empty()) refuse("task", "is missing: --task lm|translate|numbers|copy|reverse");
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
    throw Error(kind_of_wrong(arguments_, key), arguments_.source(key), "", why);
  }
  // What presets and an earlier start say is no mistake.
  void refuse_given(std::initializer_list<std::string_view> keys, const std::string& why) const {
    for (const std::string_view key : keys) {
      if (arguments_.has(key) && arguments_.level(key) <= Level::file) refuse(key, why);
    }
  }

  void check_data() const {
    if (s_.is_generated()) {
      for (const std::string_view key : kDataKeys) {
        if (arguments_.has(key)) refuse(key, "task " + s_.task + " makes its own data and tokens");
      }
      return;
    }
    if (s_.data.empty() && s_.source.empty() && s_.target.empty())
      refuse("data", "is missing: task " + s_.task + " reads text");
    if (s_.source.empty() != s_.target.empty())
      refuse(s_.source.empty() ? "target" : "source", "--source and --target go together");
    if (!s_.source.empty() && (s_.task != "translate" || !s_.data.empty()))
      refuse("source", "goes with --task translate and instead of --data");
  }

  void check_tokenizer() const {
    constexpr int64_t kSmallest = 260;  // all bytes and four special tokens
    if (!s_.tokenizer.starts_with("bpe:")) return;
    try {
      integer_of(arguments_.source("tokenizer") + " bpe:N", s_.tokenizer.substr(4),
                 {kSmallest, 1 << 20});
    } catch (const Error& error) {
      throw error.with_kind(kind_of_wrong(arguments_, "tokenizer"));
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
                  "is not a multiple of n_head " + std::to_string(s_.n_head));
    }
    if (s_.learning_rate == 0) refuse("learning-rate", "must be more than 0");
    if (s_.min_lr > s_.learning_rate && s_.schedule == "cosine")
      refuse("min-lr", "is " + io::number_text(s_.min_lr) + ", more than learning_rate " +
                           io::number_text(s_.learning_rate));
  }

  const Arguments& arguments_;
  const TrainSettings& s_;
};

// Keys that have no meaning for the task, where the task was given with more weight.
void drop_below_task(Arguments& arguments, std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (arguments.has(key) && arguments.level(key) > arguments.level("task")) arguments.drop(key);
  }
}

// A task that is a mistake is told later.
void settle_task(Arguments& arguments) {
  constexpr std::string_view kNotOfGpt[] = {
      "n-encoder-layer", "n-decoder-layer", "batch-tokens", "norm",
      "positions",       "source",          "target"};
  constexpr std::string_view kNotOfSeq2Seq[] = {"bias"};
  constexpr std::string_view kNotOfMadeUp[] = {"batch-tokens"};
  const auto task = arguments.text("task");
  if (!task) return;
  if (*task == "lm") return drop_below_task(arguments, kNotOfGpt);
  drop_below_task(arguments, kNotOfSeq2Seq);
  if (*task == "translate") return;
  drop_below_task(arguments, kDataKeys);
  drop_below_task(arguments, kNotOfMadeUp);
}

void settle_init(Arguments& arguments) {
  constexpr std::string_view kWhy = "comes with the model of --init";
  for (const std::string_view key :
       {"n-layer", "n-encoder-layer", "n-decoder-layer", "n-head", "n-embd", "d-ff", "dropout",
        "bias", "tie-embeddings", "norm", "positions", "activation", "tokenizer"}) {
    exclude(arguments, key, "init", kWhy);
  }
  if (arguments.text("task") != "lm") exclude(arguments, "block-size", "init", kWhy);
}

}  // namespace

void settle_train_options(Arguments& arguments) {
  settle_task(arguments);
  for (const std::string_view key : {"source", "target"}) {
    exclude(arguments, key, "data", "goes with --task translate and instead of --data");
  }
  exclude(arguments, "batch-tokens", "batch-size");
  settle_init(arguments);
}

base::ErrorKind kind_of_wrong(const Arguments& arguments, std::string_view key) {
  Level level = arguments.has(key) ? arguments.level(key) : Level::command_line;
  if (level == Level::preset && arguments.has("preset")) level = arguments.level("preset");
  return level == Level::file || level == Level::run ? ErrorKind::bad_input : ErrorKind::usage;
}

void check_train_settings(const Arguments& arguments, const TrainSettings& settings) {
  Check(arguments, settings).run();
}

}  // namespace headlight::cli
