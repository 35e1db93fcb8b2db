// Contradictions between the keys of a run.
#include "apps/cli/train_check.h"

#include "headlight/base/base.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

class Check {
 public:
  Check(const GivenSettings& from, const TrainSettings& settings) : from_(from), s_(settings) {}

  void run() const {
    if (s_.task.empty()) refuse("task", "is missing: --task lm|translate|numbers|copy|reverse");
    check_data();
    check_tokenizer();
    if (s_.task == "lm") {
      check_gpt();
    } else {
      check_seq2seq();
    }
    if (!s_.init.empty()) check_init();
    check_numbers();
  }

 private:
  [[noreturn]] void refuse(std::string_view key, const std::string& why) const {
    const bool is_file = from_.all.has(key) && !from_.typed.has(key);
    throw Error(is_file ? ErrorKind::bad_input : ErrorKind::usage, from_.all.source(key), "", why);
  }
  void refuse_given(std::initializer_list<std::string_view> keys, const std::string& why) const {
    for (const std::string_view key : keys) {
      if (from_.given.has(key)) refuse(key, why);
    }
  }

  void check_data() const {
    if (s_.is_generated()) {
      for (const std::string_view key :
           {"data", "valid", "source", "target", "encoding", "tokenizer"}) {
        if (from_.all.has(key)) refuse(key, "task " + s_.task + " makes its own data and tokens");
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
      integer_of(from_.all.source("tokenizer") + " bpe:N", s_.tokenizer.substr(4),
                 {kSmallest, 1 << 20});
    } catch (const Error& error) {
      if (from_.typed.has("tokenizer")) throw;
      throw error.with_kind(ErrorKind::bad_input);
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
    if (s_.is_generated()) {
      refuse_given({"batch-tokens"}, "task " + s_.task + " counts sequences: batch_size");
    } else if (from_.given.has("batch-size")) {
      refuse_given({"batch-tokens"}, "has no meaning with batch_size");
    }
  }

  void check_init() const {
    refuse_given(
        {"n-layer", "n-encoder-layer", "n-decoder-layer", "n-head", "n-embd", "d-ff", "dropout",
         "bias", "tie-embeddings", "norm", "positions", "activation", "tokenizer"},
        "comes with the model of --init");
    if (s_.task != "lm") refuse_given({"block-size"}, "comes with the model of --init");
  }

  void check_numbers() const {
    if (s_.n_embd % s_.n_head != 0) {
      throw Error(ErrorKind::bad_input, "n_embd", std::to_string(s_.n_embd),
                  "is not a multiple of n_head " + std::to_string(s_.n_head));
    }
    if (s_.learning_rate == 0) refuse("learning-rate", "must be more than 0");
    if (s_.min_lr > s_.learning_rate && s_.schedule == "cosine")
      refuse("min-lr", "is more than learning_rate");
  }

  const GivenSettings& from_;
  const TrainSettings& s_;
};

}  // namespace

void check_train_settings(const GivenSettings& from, const TrainSettings& settings) {
  Check(from, settings).run();
}

}  // namespace headlight::cli
