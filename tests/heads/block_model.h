// A model of blocks alone, for the tests of heads: whatever the block can be, a model can be.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/models/models.h"
#include "tests/models/support.h"

namespace headlight::heads {

struct BlockModelOptions {
  std::vector<nn::TransformerBlockOptions> encoder = {};  // empty: a decoder alone
  std::vector<nn::TransformerBlockOptions> decoder = {};
  int64_t vocabulary = 13;
  bool final_norm = true;
  bool positions = false;  // learned
  bool output_bias = true;
};

class BlockModel : public models::Model {
 public:
  static constexpr int64_t kLongest = 16;

  explicit BlockModel(const BlockModelOptions& options)
      : options_(options),
        width_(options.decoder.front().width),
        words_("words", options.vocabulary, width_),
        decoder_{embedding("decoder"), stack(options.decoder, "decoder"),
                 nn::OutputLayer(std::make_shared<nn::Parameter>(
                                     "head.weight", tensor::Shape{options.vocabulary, width_}),
                                 options.output_bias
                                     ? std::make_shared<nn::Parameter>(
                                           "head.bias", tensor::Shape{options.vocabulary})
                                     : nullptr)} {
    if (options.encoder.empty()) return;
    encoder_embedding_.emplace(embedding("encoder"));
    encoder_.emplace(stack(options.encoder, "encoder"));
  }

  std::string_view type() const override { return "of-blocks"; }
  models::Capabilities capabilities() const override {
    return {.continues_prompt = !encoder_.has_value(), .translates = encoder_.has_value()};
  }
  io::Json config() const override { return io::Json::Object{}; }
  int64_t vocab_size() const override { return options_.vocabulary; }
  int64_t hidden_width() const override { return width_; }
  int64_t context_length() const override { return kLongest; }
  const models::SpecialIds& special_ids() const override { return special_ids_; }
  nn::Parameters parameters() const override {
    nn::Parameters all = decoder_.embedding.parameters();
    append(all, decoder_.layers.parameters());
    append(all, decoder_.output.parameters());
    if (!encoder_) return all;
    append(all, encoder_embedding_->parameters());
    append(all, encoder_->parameters());
    return all;
  }
  void draw(uint64_t seed) override { draw_normal(parameters(), seed, 0.3F); }
  std::vector<nn::MultiHeadAttention*> attentions() override {
    std::vector<nn::MultiHeadAttention*> all;
    if (encoder_) all = encoder_->attentions();
    for (nn::MultiHeadAttention* attention : decoder_.layers.attentions()) all.push_back(attention);
    return all;
  }
  models::Parts parts() const override {
    return {.encoder = encoder_ ? &*encoder_ : nullptr,
            .decoder = &decoder_.layers,
            .output = &decoder_.output};
  }
  using Model::loss;
  models::Value forward(models::Context& context, const models::Batch& batch) const override {
    models::Value memory;
    if (encoder_) {
      memory = encoder_->forward(context,
                                 encoder_embedding_->forward(context, batch.source_ids, {}), {});
    }
    return decoder_.forward(context, batch.ids, {.lens = batch.lens, .memory = memory});
  }
  models::Value logits(models::Context& context, const models::Value& output) const override {
    return decoder_.output.logits(context, output);
  }
  models::Value loss(models::Context& context, const models::Value& output,
                     const tensor::Tensor& targets, float smoothing) const override {
    return decoder_.output.loss(context, output, targets, smoothing);
  }

 private:
  bool ignores(const std::string& /*name*/, const nn::StoredTensor& /*tensor*/) const override {
    return false;
  }
  nn::SequenceEmbedding embedding(const std::string& place) const {
    return {words_,
            {.max_length = kLongest,
             .learned_positions = place + ".positions",
             .adds_positions = options_.positions,
             .place = place}};
  }
  nn::TransformerStack stack(const std::vector<nn::TransformerBlockOptions>& layers,
                             const std::string& place) const {
    std::optional<nn::Norm> norm;
    if (options_.final_norm) {
      norm.emplace(place + ".norm",
                   nn::NormOptions{.width = width_,
                                   .kind = layers.front().norm_kind,
                                   .bias = layers.front().norm_bias,
                                   .weight_offset = layers.front().norm_weight_offset,
                                   .place = place + ".norm"});
    }
    return {std::vector<nn::TransformerBlock>(layers.begin(), layers.end()), norm, place};
  }

  BlockModelOptions options_;
  int64_t width_;
  nn::Embedding words_;
  models::Decoder decoder_;
  std::optional<nn::SequenceEmbedding> encoder_embedding_;
  std::optional<nn::TransformerStack> encoder_;
  models::SpecialIds special_ids_;
};

// A layer of width 12 with four heads and norms before its sublayers.
inline nn::TransformerBlockOptions block_layer(const std::string& stack, int64_t layer) {
  const std::string place = stack + "." + std::to_string(layer);
  const std::string p = place + ".";
  const auto attention = [&p](const std::string& name) {
    return nn::AttentionNames{.weights = {"q.weight", "k.weight", "v.weight"},
                              .biases = {"q.bias", "k.bias", "v.bias"},
                              .output_weight = "o.weight",
                              .output_bias = "o.bias"}
        .with_prefix(p + name + ".");
  };
  return {.width = 12,
          .heads = 4,
          .hidden = 10,
          .activation = nn::Activation::gelu,
          .norm_place = nn::NormPlace::pre,
          .causal = stack == "decoder",
          .names = {.self = attention("self"),
                    .cross = attention("cross"),
                    .self_norm = p + "self_norm",
                    .cross_norm = p + "cross_norm",
                    .feed_forward_norm = p + "ffn_norm",
                    .first = p + "up",
                    .second = p + "down"},
          .place = place};
}

// RMSNorm, gated, rotary, grouped heads, both sublayers from the same stream.
inline BlockModelOptions parallel_model() {
  BlockModelOptions model;
  for (int64_t layer = 0; layer < 3; ++layer) {
    nn::TransformerBlockOptions options = block_layer("decoder", layer);
    options.kv_heads = 2;
    options.head_dim = 6;
    options.norm_kind = nn::NormKind::rms_norm;
    options.order = nn::SublayerOrder::parallel;
    options.activation = nn::Activation::silu;
    options.names.gate = options.place + ".gate";
    options.rotation = nn::rotary_options({.width = 6, .base = 100});
    model.decoder.push_back(options);
  }
  return model;
}

// Norms before and after each sublayer, with 1 + weight; norms of queries and keys, a window.
inline BlockModelOptions both_norms_model() {
  BlockModelOptions model;
  for (int64_t layer = 0; layer < 2; ++layer) {
    nn::TransformerBlockOptions options = block_layer("decoder", layer);
    options.norm_place = nn::NormPlace::both;
    options.norm_kind = nn::NormKind::rms_norm;
    options.norm_weight_offset = 1;
    options.window = layer == 0 ? 3 : 0;
    options.names.self_output_norm = options.place + ".self_after";
    options.names.feed_forward_output_norm = options.place + ".ffn_after";
    options.names.self.query_norm = options.place + ".q_norm";
    options.names.self.key_norm = options.place + ".k_norm";
    model.decoder.push_back(options);
  }
  return model;
}

// An encoder-decoder with layer norms, learned positions and no final norm, `place` its norms.
inline BlockModelOptions pair_model(nn::NormPlace place) {
  BlockModelOptions model{.final_norm = place != nn::NormPlace::post, .positions = true};
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (const char* stack : {"encoder", "decoder"}) {
      nn::TransformerBlockOptions options = block_layer(stack, layer);
      options.norm_place = place;
      options.cross_attention = options.causal;
      (options.causal ? model.decoder : model.encoder).push_back(options);
    }
  }
  return model;
}

// One layer without norms whose feed-forward layer gives nothing: logits are linear in what its
// heads give.
inline BlockModelOptions one_linear_layer(int64_t heads) {
  BlockModelOptions model{.final_norm = false, .output_bias = false};
  nn::TransformerBlockOptions options = block_layer("decoder", 0);
  options.heads = heads;
  options.names.self_norm.clear();
  options.names.feed_forward_norm.clear();
  options.feed_forward_bias = false;
  model.decoder.push_back(options);
  return model;
}

// Sets a parameter by name.
inline void set_numbers(const models::Model& model, const std::string& name,
                        const std::vector<float>& numbers) {
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    if (parameter->name() != name) continue;
    parameter->assign(tensor::Tensor::of(parameter->shape(), numbers));
    return;
  }
  FAIL() << "there is no " << name;
}

inline void set_zero(const models::Model& model, const std::string& name) {
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    if (parameter->name() != name) continue;
    parameter->assign(tensor::Tensor::zeros(tensor::DType::f32, parameter->shape()));
    return;
  }
  FAIL() << "there is no " << name;
}

// One sequence of `tokens` random ids, with a source where the model reads one.
inline models::Batch random_batch(const models::Model& model, int64_t tokens, uint64_t seed) {
  models::Batch batch{.ids = models::random_ids({1, tokens}, model.vocab_size(), seed)};
  if (model.capabilities().translates) {
    batch.source_ids =
        models::random_ids({1, tokens + 2}, model.source_vocab_size(), seed + 1'000'000);
  }
  return batch;
}

}  // namespace headlight::heads
