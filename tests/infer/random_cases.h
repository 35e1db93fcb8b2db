// Random models, prompts and options, each by the numbers of one case.
#pragma once

#include <memory>

#include "tests/infer/support.h"

namespace headlight::infer {

// Numbers of one case, drawn one after the other.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : random_(seed) {}
  int64_t from(int64_t lowest, int64_t highest) {
    return lowest + static_cast<int64_t>(
                        random_.below(next_++, static_cast<uint64_t>(highest - lowest + 1)));
  }
  bool coin() { return from(0, 1) == 1; }
  float uniform() { return random_.uniform(next_++); }

 private:
  base::Random random_;
  uint64_t next_ = 0;
};

inline std::unique_ptr<models::Model> random_gpt(Numbers& numbers) {
  const int64_t heads = numbers.from(1, 3);
  return std::make_unique<models::Gpt>(models::GptConfig{.block_size = numbers.from(6, 24),
                                                         .vocab_size = numbers.from(2, 40),
                                                         .n_layer = numbers.from(1, 2),
                                                         .n_head = heads,
                                                         .n_embd = heads * numbers.from(1, 9),
                                                         .bias = numbers.coin(),
                                                         .tied_head = numbers.coin()});
}

inline std::unique_ptr<models::Model> random_seq2seq(Numbers& numbers) {
  const int64_t heads = numbers.from(1, 3);
  const bool shared_embeddings = numbers.coin();
  models::Seq2SeqConfig config{.vocab_size = numbers.from(4, 40),
                               .d_model = heads * 2 * numbers.from(2, 5),
                               .encoder_layers = numbers.from(1, 2),
                               .decoder_layers = numbers.from(1, 2),
                               .encoder_attention_heads = heads,
                               .decoder_attention_heads = heads,
                               .encoder_ffn_dim = numbers.from(4, 30),
                               .decoder_ffn_dim = numbers.from(4, 30),
                               .max_position_embeddings = numbers.from(6, 24),
                               .normalize_before = numbers.coin(),
                               .final_layer_norm = numbers.coin(),
                               .shared_embeddings = shared_embeddings,
                               .learned_positions = numbers.coin()};
  if (!shared_embeddings) config.decoder_vocab_size = numbers.from(4, 40);
  return std::make_unique<models::Seq2Seq>(config);
}

inline std::vector<Prompt> random_prompts(Numbers& numbers, const models::Model& model) {
  std::vector<Prompt> prompts(static_cast<size_t>(numbers.from(1, 4)));
  for (Prompt& prompt : prompts) {
    prompt.ids.resize(static_cast<size_t>(numbers.from(1, model.context_length() / 2)));
    for (int64_t& id : prompt.ids) id = numbers.from(0, model.vocab_size() - 1);
    if (model.type() == "gpt2") continue;
    prompt.source.resize(static_cast<size_t>(numbers.from(1, model.context_length())));
    for (int64_t& id : prompt.source) id = numbers.from(0, model.source_vocab_size() - 1);
  }
  return prompts;
}

inline GenerateOptions random_options(Numbers& numbers, const models::Model& model) {
  GenerateOptions options;
  if (numbers.from(0, 3) != 0) {
    options.sampling = {.repetition_penalty = numbers.coin() ? 1 : 0.8F + numbers.uniform(),
                        .temperature = 0.3F + 2 * numbers.uniform(),
                        .top_k = numbers.coin() ? 0 : numbers.from(1, 10),
                        .top_p = numbers.coin() ? 1 : 0.1F + 0.9F * numbers.uniform(),
                        .min_p = numbers.coin() ? 0 : 0.2F * numbers.uniform(),
                        .seed = static_cast<uint64_t>(numbers.from(0, 1000))};
  }
  options.ending.max_new_tokens = numbers.from(1, 15);
  options.ending.stop_ids.emplace();
  if (numbers.coin()) options.ending.stop_ids->push_back(numbers.from(0, model.vocab_size() - 1));
  return options;
}

}  // namespace headlight::infer
