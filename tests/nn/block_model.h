// A model made of TransformerBlocks alone, and five architectures that the project does not know.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headlight/models/models.h"
#include "tests/nn/support.h"

namespace headlight::nn {

using models::Batch;

inline constexpr int64_t kVocabulary = 13;
inline constexpr int64_t kWidth = 12;
inline constexpr int64_t kLongest = 16;

inline tensor::Tensor drawn_ids(int64_t count, uint64_t seed) {
  const base::Random random(seed);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(i), kVocabulary)));
  }
  return tensor::Tensor::of({1, count}, ids);
}

// Random numbers everywhere, norms around 1, so that nothing hides behind a zero.
inline void fill_in(const Parameters& parameters, uint64_t seed) {
  const base::Random random(seed);
  uint64_t next = 0;
  for (const ParameterHandle& parameter : parameters) {
    tensor::Tensor numbers = tensor::Tensor::uninitialized(tensor::DType::f32, parameter->shape());
    const bool is_norm = parameter->shape().rank() == 1 && parameter->name().ends_with("weight");
    for (int64_t i = 0; i < numbers.elements(); ++i) {
      numbers.mutable_data<float>()[i] = (is_norm ? 1.0F : 0.0F) + 0.2F * random.normal(next++);
    }
    parameter->assign(numbers);
  }
}

inline AttentionNames names_of(const std::string& prefix) {
  return AttentionNames{.weights = {"q.weight", "k.weight", "v.weight"},
                        .biases = {"q.bias", "k.bias", "v.bias"},
                        .output_weight = "o.weight",
                        .output_bias = "o.bias"}
      .with_prefix(prefix);
}

inline TransformerNames block_names(const std::string& place) {
  const std::string p = place + ".";
  return {.self = names_of(p + "self."),
          .cross = names_of(p + "cross."),
          .self_norm = p + "self_norm",
          .cross_norm = p + "cross_norm",
          .feed_forward_norm = p + "ffn_norm",
          .first = p + "up",
          .second = p + "down"};
}

// What an architecture is made of: the options of each layer.
struct Design {
  std::vector<TransformerBlockOptions> encoder = {};
  std::vector<TransformerBlockOptions> decoder = {};
};

// The same with these heads; tables that layers share are new ones.
inline Design with_left(Design design, const models::HeadsLeft& left) {
  std::map<ParameterHandle, ParameterHandle> tables;
  for (auto* layers : {&design.encoder, &design.decoder}) {
    for (TransformerBlockOptions& layer : *layers) {
      layer.self_heads_left = models::left_at(left, layer.place + ".self");
      layer.cross_heads_left = models::left_at(left, layer.place + ".cross");
      ParameterHandle& table = layer.position_bias.table;
      if (!table) continue;
      const auto made = std::make_shared<Parameter>(table->name(), table->shape());
      table = tables.emplace(table, made).first->second;
    }
  }
  return design;
}

inline std::vector<TransformerBlock> blocks_of(
    const std::vector<TransformerBlockOptions>& options) {
  return std::vector<TransformerBlock>(options.begin(), options.end());
}

inline Norm final_norm(const Design& design, const std::string& place) {
  const TransformerBlockOptions& last = design.decoder.back();
  NormOptions options;
  options.width = kWidth;
  options.kind = last.norm_kind;
  options.bias = last.norm_bias;
  options.weight_offset = last.norm_weight_offset;
  options.epsilon = last.epsilon;
  options.place = place + ".norm";
  return {place + ".final", options};
}

inline SequenceEmbedding embedding_of(const Embedding& words, const std::string& place) {
  return {words, {.max_length = kLongest, .adds_positions = false, .place = place}};
}

class BlockModel : public models::Model {
 public:
  explicit BlockModel(Design design)
      : design_(std::move(design)),
        words_("words", kVocabulary, kWidth),
        decoder_{
            embedding_of(words_, "decoder"),
            {blocks_of(design_.decoder), final_norm(design_, "decoder"), "decoder"},
            OutputLayer(std::make_shared<Parameter>("head", tensor::Shape{kVocabulary, kWidth}))} {
    if (design_.encoder.empty()) return;
    encoder_embedding_.emplace(embedding_of(words_, "encoder"));
    encoder_.emplace(blocks_of(design_.encoder), final_norm(design_, "encoder"), "encoder");
  }

  std::string_view type() const override { return "of-blocks"; }
  models::Capabilities capabilities() const override {
    return {.continues_prompt = !encoder_.has_value(), .translates = encoder_.has_value()};
  }
  io::Json config() const override { return io::Json::Object{}; }
  int64_t vocab_size() const override { return kVocabulary; }
  int64_t hidden_width() const override { return kWidth; }
  int64_t context_length() const override { return kLongest; }
  const models::SpecialIds& special_ids() const override { return special_ids_; }
  const Design& design() const { return design_; }

  Parameters parameters() const override {
    Parameters all = words_.parameters();
    append(all, decoder_.output.parameters());
    append(all, decoder_.layers.parameters());
    if (encoder_) append(all, encoder_->parameters());
    Parameters once;
    for (const ParameterHandle& parameter : all) {
      if (std::find(once.begin(), once.end(), parameter) == once.end()) once.push_back(parameter);
    }
    return once;
  }
  void draw(uint64_t seed) override { draw_normal(parameters(), seed, 0.3F); }
  std::vector<MultiHeadAttention*> attentions() override {
    std::vector<MultiHeadAttention*> all;
    if (encoder_) all = encoder_->attentions();
    for (MultiHeadAttention* one : decoder_.layers.attentions()) all.push_back(one);
    return all;
  }
  std::unique_ptr<models::Model> with_heads(const models::HeadsLeft& left) const override {
    return std::make_unique<BlockModel>(with_left(design_, left));
  }
  models::Parts parts() const override {
    return {.encoder = encoder_ ? &*encoder_ : nullptr,
            .decoder = &decoder_.layers,
            .output = &decoder_.output};
  }

  using Model::loss;
  Value forward(Context& context, const Batch& batch) const override {
    const Value memory = encoded(context, batch);
    return decoder_.forward(
        context, batch.ids,
        {.lens = batch.lens, .memory = memory, .memory_lens = batch.source_lens});
  }
  Value logits(Context& context, const Value& output) const override {
    return decoder_.output.logits(context, output);
  }
  Value loss(Context& context, const Value& output, const tensor::Tensor& targets,
             float label_smoothing) const override {
    return decoder_.output.loss(context, output, targets, label_smoothing);
  }
  models::Decoding start(Context& context, const Batch& source) const override {
    std::vector<LayerCache> caches = decoder_.no_caches();
    if (encoder_) {
      decoder_.layers.remember(context, encoded(context, source), source.source_lens, caches);
    }
    return {decoder_, std::move(caches)};
  }

 private:
  bool ignores(const std::string& /*name*/, const nn::StoredTensor& /*tensor*/) const override {
    return false;
  }
  Value encoded(Context& context, const Batch& batch) const {
    if (!encoder_) return {};
    const Value x =
        encoder_embedding_->forward(context, batch.source_ids, {.lens = batch.source_lens});
    return encoder_->forward(context, x, {.lens = batch.source_lens});
  }

  Design design_;
  Embedding words_;
  models::Decoder decoder_;
  std::optional<SequenceEmbedding> encoder_embedding_;
  std::optional<TransformerStack> encoder_;
  models::SpecialIds special_ids_;
};

inline TransformerBlockOptions plain_layer(const std::string& stack, int layer) {
  const std::string place = stack + "." + std::to_string(layer);
  return {.width = kWidth,
          .heads = 4,
          .hidden = 10,
          .activation = Activation::gelu,
          .norm_place = NormPlace::pre,
          .causal = stack == "decoder",
          .qkv_bias = false,
          .out_bias = false,
          .feed_forward_bias = false,
          .norm_bias = false,
          .names = block_names(place),
          .place = place};
}

// RMSNorm, rotary positions, SwiGLU, two key/value heads for four queries.
inline Design rotary_and_grouped() {
  Design design;
  for (int layer = 0; layer < 2; ++layer) {
    TransformerBlockOptions options = plain_layer("decoder", layer);
    options.kv_heads = 2;
    options.head_dim = 6;
    options.norm_kind = NormKind::rms_norm;
    options.activation = Activation::silu;
    options.names.gate = options.place + ".gate";
    options.rotation = rotary_options({.width = 6, .base = 100});
    design.decoder.push_back(options);
  }
  return design;
}

// Both sublayers read the same stream; two of four columns of each head are rotated, as neighbours.
inline Design parallel_and_partial() {
  Design design;
  for (int layer = 0; layer < 2; ++layer) {
    TransformerBlockOptions options = plain_layer("decoder", layer);
    options.heads = 3;
    options.head_dim = 4;
    options.order = SublayerOrder::parallel;
    options.norm_bias = true;
    options.qkv_bias = true;
    options.out_bias = true;
    options.feed_forward_bias = true;
    options.rotation = rotary_options({.width = 2, .base = 100});
    options.rotation.interleaved = true;
    design.decoder.push_back(options);
  }
  return design;
}

inline Design with_slopes() {
  Design design;
  for (int layer = 0; layer < 2; ++layer) {
    TransformerBlockOptions options = plain_layer("decoder", layer);
    options.position_bias = {.slopes = alibi_slopes(options.heads)};
    options.norm_bias = true;
    design.decoder.push_back(options);
  }
  return design;
}

// T5: one table of buckets per stack, no scale, RMSNorm, gated GELU.
inline Design with_buckets() {
  Design design;
  for (const char* stack : {"encoder", "decoder"}) {
    const auto table =
        std::make_shared<Parameter>(std::string(stack) + ".buckets", tensor::Shape{8, 4});
    for (int layer = 0; layer < 2; ++layer) {
      TransformerBlockOptions options = plain_layer(stack, layer);
      options.norm_kind = NormKind::rms_norm;
      options.activation = Activation::gelu_tanh;
      options.names.gate = options.place + ".gate";
      options.scale = 1.0F;
      options.cross_attention = options.causal;
      options.position_bias = {
          .table = table, .bidirectional = !options.causal, .max_distance = 10};
      (options.causal ? design.decoder : design.encoder).push_back(options);
    }
  }
  return design;
}

// A window in every second layer, norms on queries and keys, norms before and after with
// 1 + weight, soft cap.
inline Design with_windows() {
  Design design;
  for (int layer = 0; layer < 2; ++layer) {
    TransformerBlockOptions options = plain_layer("decoder", layer);
    const std::string p = options.place + ".";
    options.window = layer % 2 == 0 ? 3 : 0;
    options.softcap = 2;
    options.norm_place = NormPlace::both;
    options.norm_kind = NormKind::rms_norm;
    options.norm_weight_offset = 1;
    options.names.self_output_norm = p + "self_after";
    options.names.feed_forward_output_norm = p + "ffn_after";
    options.names.self.query_norm = p + "q_norm";
    options.names.self.key_norm = p + "k_norm";
    options.rotation = rotary_options({.width = 2, .base = 100});
    design.decoder.push_back(options);
  }
  return design;
}

}  // namespace headlight::nn
