// Reading a tokenizer and a model, or making them.
#include "headlight/recipes/starting_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headlight/recipes/embedded.h"
#include "headlight/recipes/task_models.h"
#include "headlight/recipes/typed_words.h"

namespace headlight::recipes {
namespace {

using base::Error;
using base::ErrorKind;

constexpr int64_t kShortestContext = 256;  // of encoder-decoders: room for longer sentences

// Weights, gradients (of each level of the tree of shards) and two moments, and what a step on
// `tokens` tokens holds for going backwards; for each rank of this machine.
void check_training_memory(base::FileSystem& files, const models::ModelPlan& plan,
                           const TrainSettings& settings, int64_t tokens) {
  const auto own_shards =
      static_cast<double>(std::max<int64_t>(1, settings.shards / settings.ranks));
  const double sets = 2 + std::log2(own_shards) + 2 / static_cast<double>(settings.ranks);
  const double numbers = sets * static_cast<double>(plan.parameters) +
                         static_cast<double>(plan.tables) +
                         static_cast<double>(plan.activations) * static_cast<double>(tokens);
  const std::string ranks_here = std::to_string(settings.ranks_here);
  const bool is_shared = settings.ranks_here > 1;
  base::check_memory(
      files, numbers * sizeof(float) * static_cast<double>(settings.ranks_here), "train",
      std::to_string(plan.parameters) + " parameters" +
          (is_shared ? ", " + ranks_here + " ranks of this machine" : ""),
      std::string("; a smaller model or batch") + (is_shared ? " or fewer ranks here" : "") +
          (is_shared ? " need less" : " needs less"));
}

models::ModelRequest request_of(const TrainSettings& s, const text::Tokenizer& tokenizer,
                                int64_t block_size) {
  const text::SpecialIds& ids = tokenizer.special();
  models::ModelRequest request = asked_model(s);
  request.vocab_size = tokenizer.size();
  request.block_size = block_size;
  request.special_ids = {.padding = ids.pad, .begin = ids.bos, .end = ids.eos};
  const bool translates = models_of_task(s.task).capability == &models::Capabilities::translates;
  if (translates) request.special_ids.decoder_start = ids.bos;
  return request;
}

}  // namespace

text::Tokenizer starting_tokenizer(base::FileSystem& files, const TrainSettings& settings,
                                   const TokenizerTexts& texts) {
  const std::string& kind = settings.tokenizer;
  if (!settings.init.empty())
    return text::load_tokenizer(files, model_folder(files, settings.init));
  if (kind == "char") return text::char_tokenizer(texts.all, texts.special);
  if (kind == "word") {
    return text::word_tokenizer(texts.training,
                                texts.special.empty() ? text::sequence_tokens() : texts.special);
  }
  if (kind.starts_with("bpe:")) {
    const int64_t size = integer_of("tokenizer", kind.substr(4), {0, INT64_MAX});
    std::vector<std::string> tokens = texts.special;
    if (tokens.empty()) tokens.push_back("<|endoftext|>");
    return text::train_bpe(texts.training, {.vocabulary_size = size, .special = tokens});
  }
  if (kind == "gpt2" && !base::exists(files, kind)) {
    throw Error(ErrorKind::bad_input, "tokenizer", kind,
                "its files are not part of this program; give the folder that holds vocab.json and "
                "merges.txt, or train one with bpe:8000");
  }
  if (!base::exists(files, kind)) {
    constexpr std::array<std::string_view, 4> kKinds = {"char", "word", "bpe:8000", "gpt2"};
    throw Error(
        ErrorKind::bad_input, "tokenizer", kind,
        "is no folder and none of char, word, bpe:N, gpt2" + base::nearest_hint(kind, kKinds));
  }
  return text::load_tokenizer(files, kind);
}

std::unique_ptr<models::Model> initial_model(base::FileSystem& files, const TrainSettings& settings,
                                             const text::Tokenizer& tokenizer) {
  std::unique_ptr<models::Model> model =
      models::load_model(files, model_place(files, settings.init));
  check_task_model(settings.task, *model, settings.init, "trains");
  const int64_t ids = std::min(model->vocab_size(), model->source_vocab_size());
  if (tokenizer.size() > ids) {
    throw Error(ErrorKind::bad_input, "model", settings.init,
                "has " + std::to_string(ids) + " ids, the tokenizer " +
                    std::to_string(tokenizer.size()) + " tokens");
  }
  return model;
}

std::unique_ptr<models::Model> fresh_model(base::FileSystem& files, const TrainSettings& s,
                                           const text::Tokenizer& tokenizer,
                                           const BatchSize& batch) {
  const models::ModelPlan plan =
      models::known_architectures().plan(s.arch, request_of(s, tokenizer, batch.context));
  check_training_memory(files, plan, s, batch.tokens);
  std::unique_ptr<models::Model> model = plan.make();
  model->draw(static_cast<uint64_t>(s.seed));
  return model;
}

std::unique_ptr<models::Model> pair_model(base::FileSystem& files, const TrainSettings& s,
                                          const text::Tokenizer& tokenizer, int64_t longest,
                                          int64_t batch_tokens) {
  if (s.block_size > 0 && longest > s.block_size) {
    throw Error(ErrorKind::bad_input, "block_size", std::to_string(s.block_size),
                "the longest sequence has " + std::to_string(longest) + " tokens; block_size " +
                    std::to_string(longest) + " would do");
  }
  if (s.init.empty()) {
    const int64_t context = s.block_size > 0 ? s.block_size : std::max(kShortestContext, longest);
    return fresh_model(files, s, tokenizer, {.context = context, .tokens = batch_tokens});
  }
  std::unique_ptr<models::Model> model = initial_model(files, s, tokenizer);
  if (longest > model->context_length()) {
    throw Error(ErrorKind::bad_input, "model", s.init,
                "reads " + std::to_string(model->context_length()) +
                    " tokens, the longest sequence has " + std::to_string(longest));
  }
  return model;
}

}  // namespace headlight::recipes
