// Contradictions between the keys of a run.
#include "headlight/recipes/train_check.h"

#include "headlight/base/base.h"
#include "headlight/io/io.h"
#include "headlight/recipes/task_models.h"
#include "headlight/recipes/train_keys.h"
#include "headlight/train/train.h"

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
             "is missing: " + values_.key_text("task") + " lm|mlm|translate|numbers|copy|reverse");
    check_data();
    check_tokenizer();
    check_batches();
    if (s_.init.empty()) check_architecture();
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
    constexpr int64_t kBytes = 256;
    const int64_t smallest = kBytes + (s_.task == "mlm" ? 5 : 4);  // with special tokens
    if (!s_.tokenizer.starts_with("bpe:")) return;
    try {
      integer_of(values_.source("tokenizer") + " bpe:N", s_.tokenizer.substr(4),
                 {smallest, 1 << 20});
    } catch (const Error& error) {
      throw error.with_kind(kind_of_wrong(values_, "tokenizer"));
    }
  }

  void check_batches() const {
    if (s_.is_generated())
      refuse_given({"batch-tokens"}, "task " + s_.task + " counts sequences: batch_size");
    if (s_.task == "lm" || s_.task == "mlm")
      refuse_given({"batch-tokens"}, "task " + s_.task + " counts windows: batch_size");
  }

  void check_architecture() const {
    const models::Registry& known = models::known_architectures();
    const models::Architecture* asked = known.find(s_.arch);
    const auto capability = models_of_task(s_.task).capability;
    if (asked == nullptr || asked->fresh == nullptr || !(asked->capabilities.*capability)) {
      refuse("arch", "is " + io::in_quotes(s_.arch) + ", task " + s_.task + " trains " +
                         known.types_that({capability}) +
                         (asked == nullptr ? base::nearest_hint(s_.arch, known.types()) : ""));
    }
    if (const auto fault = models::fault_of(asked_model(s_), asked->choices, s_.arch)) {
      refuse(key_of(fault->key), fault->why);
    }
  }

  void check_numbers() const {
    if (s_.n_embd % s_.n_head != 0) {
      throw Error(ErrorKind::bad_input, "n_embd", std::to_string(s_.n_embd),
                  "is not a multiple of n_head " + std::to_string(s_.n_head) + "; n_head " +
                      base::nearest_divisors(s_.n_embd, s_.n_head) + " would do");
    }
    if (s_.n_kv_head > 0 && s_.n_head % s_.n_kv_head != 0) {
      throw Error(ErrorKind::bad_input, "n_kv_head", std::to_string(s_.n_kv_head),
                  std::to_string(s_.n_head) + " heads cannot share so many evenly; n_kv_head " +
                      base::nearest_divisors(s_.n_head, s_.n_kv_head) + " would do");
    }
    if (!train::is_shard_count(s_.shards))
      refuse("shards", "is " + std::to_string(s_.shards) + ", it must be a power of two");
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
  constexpr std::string_view kNotOfTexts[] = {"batch-tokens", "source", "target"};
  constexpr std::string_view kNotOfMadeUp[] = {"batch-tokens"};
  const auto task = values.text("task");
  if (!task || *task == "translate") return;
  if (!is_generated_task(*task)) return drop_below_task(values, kNotOfTexts);
  drop_below_task(values, kDataKeys);
  drop_below_task(values, kNotOfMadeUp);
}

// Keys that the architecture does not leave open, where it was given with more weight.
void settle_architecture(GivenValues& values) {
  const auto task = values.text("task");
  const auto arch = values.text("arch");
  if (!task && !arch) return;
  const models::Architecture* known = models::known_architectures().find(
      arch ? std::string_view(*arch) : models_of_task(*task).fresh_type);
  if (known == nullptr) return;
  const Level decided = values.level(arch ? "arch" : "task");
  for (const TrainKey& key : train_keys()) {
    const bool is_lighter = values.has(key.name) && values.level(key.name) > decided;
    if (is_lighter && !models::is_open(known->choices, key_in_files(key.name)))
      values.drop(key.name);
  }
}

void settle_init(GivenValues& values) {
  const std::string why = "comes with the model of " + values.key_text("init");
  for (const std::string_view key :
       {"arch", "n-layer", "n-encoder-layer", "n-decoder-layer", "n-head", "n-kv-head", "n-embd",
        "d-ff", "sliding-window", "rope-theta", "dropout", "bias", "tie-embeddings", "norm",
        "positions", "activation", "tokenizer"}) {
    exclude(values, key, "init", why);
  }
  const auto task = values.text("task");
  if (task != "lm" && task != "mlm") exclude(values, "block-size", "init", why);
}

}  // namespace

void settle_train_values(GivenValues& values) {
  settle_task(values);
  settle_architecture(values);
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
