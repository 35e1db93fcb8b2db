// What a model says next, from texts: the words that could follow, how one of them is chosen, what
// that depends on, and what it goes on with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/heads.h"
#include "headlight/infer/infer.h"
#include "headlight/recipes/typed_prompt.h"

namespace headlight::recipes {

struct NextWordsRequest {
  PromptText text = {};
  // Instead of texts; of an encoder-decoder `ids` are what it has written, without its start.
  std::optional<std::vector<int64_t>> ids = {};
  std::optional<std::vector<int64_t>> source_ids = {};
  std::vector<int64_t> append_ids = {};  // read after the prompt
  bool special = false;
  int64_t max_new_tokens = 1;
  infer::SamplingOptions sampling = {};
  int64_t best = 5;
  bool stages = false;
  bool lens = false;  // what each layer would have said, of the model with all its heads
  std::vector<heads::HeadName> heads_off = {};
  bool all_attention = false;                   // where each of the heads looks, or
  std::vector<heads::HeadName> attention = {};  // some of them
};

struct HeadRow {
  std::string head;
  tensor::Tensor weights;  // (S,)
};

struct NextWord {
  infer::PredictedStep step;
  std::vector<HeadRow> attention = {};
  std::optional<heads::LogitLens> lens = {};
};

// What is known before the first word.
struct NextWordsStart {
  std::vector<int64_t> ids;         // as they are read, with what the model starts with
  std::vector<int64_t> source_ids;  // of an encoder-decoder
  std::vector<std::string> tokens;  // labels of both
  std::vector<std::string> source_tokens;
  std::optional<int64_t> masked_at = {};  // of a model that fills masks: the position
};

struct NextWordsEnd {
  infer::Continuation continuation = {};
  bool is_mask = false;  // one word that stands at a mask, and is not appended
};

struct NextWordsListener {
  std::function<void(const NextWordsStart&)> start = {};
  std::function<bool(const NextWord&)> word = {};  // false: enough
};

// Models that fill masks give one word, with best words and stages. `tokenizer`: null where there
// is none. Throws Error(bad_input) for what the model cannot read, heads that it does not have, and
// models that predict no words.
NextWordsEnd next_words(base::ThreadPool& threads, const models::Model& model,
                        const text::Tokenizer* tokenizer, const NextWordsRequest& request,
                        const NextWordsListener& listener);

// What a listener hears as JSON; `letters` writes numbers. {"prompt_ids", "prompt_tokens",
// "source_ids", "source_tokens"}.
io::Json::Object next_words_json(const NextWordsStart& start);
// {"position", "id", "token", "text", "probability", "log_probability", "is_stop", "best",
// "with_all_heads", "stages", "kept", "lens", "attention"}; what was not asked for is absent.
io::Json::Object next_word_json(const NextWord& word, const NextWordsRequest& request,
                                const std::function<std::string(int64_t)>& label,
                                const std::function<io::Json(const tensor::Tensor&)>& letters);
// {"ids", "text", "log_probability", "stopped"}.
io::Json::Object next_words_json(const NextWordsEnd& end);

}  // namespace headlight::recipes
