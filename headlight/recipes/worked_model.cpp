// A tokenizer of the sentences' words and an encoder-decoder of their size.
#include "headlight/recipes/worked_model.h"

#include <algorithm>
#include <utility>

namespace headlight::recipes {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::Tensor;

constexpr int64_t kMostTokens = 256;  // of a sentence

[[noreturn]] void refuse_worked(const std::string& where, const std::string& why) {
  throw Error(ErrorKind::bad_input, "worked model", where, why);
}

void check(const WorkedModelOptions& options) {
  const std::pair<const char*, int64_t> sizes[] = {{"width", options.width},
                                                   {"heads", options.heads},
                                                   {"head width", options.head_width},
                                                   {"feed-forward width", options.hidden},
                                                   {"layers", options.layers}};
  constexpr int64_t kMost = 1024;
  for (const auto& [name, size] : sizes) {
    if (size >= 1 && size <= kMost) continue;
    refuse_worked(
        name, "is " + std::to_string(size) + ", it must be within 1 and " + std::to_string(kMost));
  }
  if (options.width % 2 != 0) {
    refuse_worked("width", "is " + std::to_string(options.width) +
                               ", sinusoidal positions need an even width");
  }
}

text::Tokenizer words_of(const std::vector<SentencePair>& sentences) {
  if (sentences.empty()) refuse_worked("sentences", "there are none");
  std::vector<std::string_view> texts;
  for (const SentencePair& pair : sentences) {
    texts.push_back(pair.source);
    texts.push_back(pair.target);
  }
  text::Tokenizer tokenizer = text::word_tokenizer(texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!tokenizer.encode(texts[i]).empty()) continue;
    refuse_worked("sentence " + std::to_string(i / 2 + 1),
                  std::string("its ") + (i % 2 == 0 ? "source" : "target") + " has no words");
  }
  return tokenizer;
}

models::SpecialIds special_ids(const text::SpecialIds& ids) {
  return {.padding = ids.pad, .begin = ids.bos, .end = ids.eos, .decoder_start = ids.bos};
}

models::Seq2SeqConfig config_of(const text::Tokenizer& tokenizer,
                                const WorkedModelOptions& options) {
  return {.vocab_size = tokenizer.size(),
          .d_model = options.width,
          .encoder_layers = options.layers,
          .decoder_layers = options.layers,
          .encoder_attention_heads = options.heads,
          .decoder_attention_heads = options.heads,
          .head_dim = options.head_width,
          .encoder_ffn_dim = options.hidden,
          .decoder_ffn_dim = options.hidden,
          .max_position_embeddings = kMostTokens,
          .normalize_before = options.pre_norm,
          .final_layer_norm = options.pre_norm,
          .scale_embedding = false,
          .tied_head = false,
          .special_ids = special_ids(tokenizer.special())};
}

// Rows of ids, padded to the longest.
Tensor padded(const std::vector<std::vector<int64_t>>& rows, int64_t padding) {
  size_t longest = 0;
  for (const std::vector<int64_t>& row : rows) longest = std::max(longest, row.size());
  std::vector<int64_t> all;
  for (const std::vector<int64_t>& row : rows) {
    all.insert(all.end(), row.begin(), row.end());
    all.insert(all.end(), longest - row.size(), padding);
  }
  return Tensor::of({static_cast<int64_t>(rows.size()), static_cast<int64_t>(longest)}, all);
}

Tensor lengths_of(const std::vector<std::vector<int64_t>>& rows) {
  std::vector<int64_t> lengths;
  for (const std::vector<int64_t>& row : rows) lengths.push_back(static_cast<int64_t>(row.size()));
  return Tensor::of({static_cast<int64_t>(rows.size())}, lengths);
}

}  // namespace

std::vector<SentencePair> default_sentences() {
  return {{"When you play the game of thrones", "you win or you die"},
          {"When the sun rises over the sea", "the boats come home"},
          {"When winter comes to the north", "the wolves sing at night"}};
}

WorkedModel make_worked_model(std::vector<SentencePair> sentences,
                              const WorkedModelOptions& options) {
  check(options);
  text::Tokenizer tokenizer = words_of(sentences);
  auto model = std::make_unique<models::Seq2Seq>(config_of(tokenizer, options));
  nn::draw_uniform(model->parameters(), options.seed);
  return {std::move(sentences), std::move(tokenizer), std::move(model), options.special};
}

int64_t parameter_count(const std::vector<SentencePair>& sentences,
                        const WorkedModelOptions& options) {
  check(options);
  return models::parameter_count(config_of(words_of(sentences), options));
}

models::Batch sentence_batch(const WorkedModel& worked) {
  const text::SpecialIds& special = worked.tokenizer.special();
  const text::EncodeOptions options{.special = worked.special};
  std::vector<std::vector<int64_t>> sources;
  std::vector<std::vector<int64_t>> inputs;
  std::vector<std::vector<int64_t>> targets;
  for (const SentencePair& pair : worked.sentences) {
    sources.push_back(worked.tokenizer.encode(pair.source, options));
    targets.push_back(worked.tokenizer.encode(pair.target, options));
    inputs.push_back(targets.back());
    inputs.back().insert(inputs.back().begin(), *special.bos);
    targets.back().push_back(*special.eos);
  }
  return {.ids = padded(inputs, *special.pad),
          .lens = lengths_of(inputs),
          .source_ids = padded(sources, *special.pad),
          .source_lens = lengths_of(sources),
          .targets = padded(targets, -1)};
}

}  // namespace headlight::recipes
