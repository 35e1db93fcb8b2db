// A decoder made of blocks alone, for heads whose weights are known.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "headlight/models/models.h"
#include "tests/models/support.h"

namespace headlight::heads {

struct LayersDesign {
  int64_t vocabulary = 0;
  int64_t width = 0;
  int64_t longest = 0;
  bool positions = true;  // learned ones, "positions.weight"
  std::vector<nn::TransformerBlockOptions> layers = {};
};

inline nn::AttentionNames layer_attention_names(const std::string& place) {
  return nn::AttentionNames{.weights = {"q.weight", "k.weight", "v.weight"},
                            .biases = {},
                            .output_weight = "o.weight",
                            .output_bias = {}}
      .with_prefix(place + ".self.");
}

// Parameters "words.weight", "head" and, of layer 0, "decoder.0.self.q.weight" and so on.
class LayersModel : public models::Model {
 public:
  explicit LayersModel(LayersDesign design)
      : design_(std::move(design)),
        words_("words", design_.vocabulary, design_.width),
        decoder_{{words_,
                  {.max_length = design_.longest,
                   .learned_positions = design_.positions ? "positions" : "",
                   .adds_positions = design_.positions,
                   .place = "decoder"}},
                 {std::vector<nn::TransformerBlock>(design_.layers.begin(), design_.layers.end()),
                  std::nullopt, "decoder"},
                 nn::OutputLayer(std::make_shared<nn::Parameter>(
                     "head", tensor::Shape{design_.vocabulary, design_.width}))} {}

  std::string_view type() const override { return "of-layers"; }
  models::Capabilities capabilities() const override { return {.continues_prompt = true}; }
  io::Json config() const override { return io::Json::Object{}; }
  int64_t vocab_size() const override { return design_.vocabulary; }
  int64_t hidden_width() const override { return design_.width; }
  int64_t context_length() const override { return design_.longest; }
  const models::SpecialIds& special_ids() const override { return special_ids_; }
  nn::Parameters parameters() const override {
    nn::Parameters all = decoder_.embedding.parameters();
    nn::append(all, decoder_.layers.parameters());
    nn::append(all, decoder_.output.parameters());
    return all;
  }
  void draw(uint64_t seed) override { nn::draw_normal(parameters(), seed, 0.3F); }
  std::vector<nn::MultiHeadAttention*> attentions() override {
    return decoder_.layers.attentions();
  }
  models::Parts parts() const override {
    return {.decoder = &decoder_.layers,
            .output = &decoder_.output,
            .decoder_table = words_.weight().get()};
  }
  using Model::loss;
  models::Value forward(models::Context& context, const models::Batch& batch) const override {
    return decoder_.forward(context, batch.ids, {.lens = batch.lens});
  }
  models::Value logits(models::Context& context, const models::Value& output) const override {
    return decoder_.output.logits(context, output);
  }
  models::Value loss(models::Context& context, const models::Value& output,
                     const tensor::Tensor& targets, float label_smoothing) const override {
    return decoder_.output.loss(context, output, targets, label_smoothing);
  }

 private:
  bool ignores(const std::string& /*name*/, const nn::StoredTensor& /*tensor*/) const override {
    return false;
  }

  LayersDesign design_;
  nn::Embedding words_;
  models::Decoder decoder_;
  models::SpecialIds special_ids_;
};

inline nn::Parameter& parameter_of(const models::Model& model, const std::string& name) {
  const nn::Parameters all = model.parameters();
  const auto found = std::ranges::find(all, name, [](const auto& one) { return one->name(); });
  EXPECT_TRUE(found != all.end()) << name;
  return **found;
}

inline void set_number(nn::Parameter& parameter, int64_t row, int64_t column, float number) {
  tensor::Tensor numbers = parameter.change();
  numbers.mutable_data<float>()[row * numbers.size(1) + column] = number;
}

// Two layers of two heads without norms, whose feed-forward layers add nothing. A row is [token |
// position | token before | answer], each in one place of its own.
//   decoder.0.self.0 looks at the token before and writes it into its place;
//   decoder.0.self.1 looks at the same token earlier, where there is one, and adds nothing;
//   decoder.1.self.0 looks at the tokens that stand behind the same token and answers with them;
//   decoder.1.self.1 looks at all alike and adds nothing.
constexpr int64_t kCircuitTokens = 12;
constexpr int64_t kCircuitPositions = 32;
inline std::unique_ptr<LayersModel> induction_circuit() {
  constexpr int64_t kV = kCircuitTokens;
  constexpr int64_t kP = kCircuitPositions;
  constexpr int64_t kBefore = kV + kP;
  constexpr int64_t kAnswer = kBefore + kV;
  constexpr int64_t kD = kV + kP;
  LayersDesign design{.vocabulary = kV, .width = kAnswer + kV, .longest = kP};
  for (int64_t layer = 0; layer < 2; ++layer) {
    const std::string place = "decoder." + std::to_string(layer);
    design.layers.push_back({.width = design.width,
                             .heads = 2,
                             .head_dim = kD,
                             .value_head_dim = kV,
                             .hidden = 1,
                             .norm_place = nn::NormPlace::pre,
                             .scale = 1.0F,
                             .causal = true,
                             .qkv_bias = false,
                             .out_bias = false,
                             .feed_forward_bias = false,
                             .names = {.self = layer_attention_names(place),
                                       .first = place + ".up",
                                       .second = place + ".down"},
                             .place = place});
  }
  auto model = std::make_unique<LayersModel>(design);
  for (const nn::ParameterHandle& parameter : model->parameters())
    parameter->assign(tensor::Tensor::zeros(tensor::DType::f32, parameter->shape()));
  const auto set = [&](const std::string& name, int64_t row, int64_t column, float number) {
    set_number(parameter_of(*model, name), row, column, number);
  };
  constexpr float kSure = 40;
  for (int64_t id = 0; id < kV; ++id) {
    set("words.weight", id, id, 1);
    set("head", id, kAnswer + id, 8);
    set("decoder.0.self.v.weight", id, id, 1);  // of head 0
    set("decoder.0.self.o.weight", kBefore + id, id, 1);
    set("decoder.0.self.q.weight", kD + id, id, kSure);  // of head 1
    set("decoder.0.self.k.weight", kD + id, id, 1);
    set("decoder.1.self.q.weight", id, id, kSure);
    set("decoder.1.self.k.weight", id, kBefore + id, 1);
    set("decoder.1.self.v.weight", id, id, 1);
    set("decoder.1.self.o.weight", kAnswer + id, id, 1);
  }
  for (int64_t at = 0; at < kP; ++at) {
    set("positions.weight", at, kV + at, 1);
    if (at > 0) set("decoder.0.self.q.weight", at - 1, kV + at, kSure);
    set("decoder.0.self.k.weight", at, kV + at, 1);
    set("decoder.0.self.q.weight", kD + kV + at, kV + at, -kSure);
    set("decoder.0.self.k.weight", kD + kV + at, kV + at, 1);
    // Position 0, which has no token before it and sees itself instead, is no answer.
    set("decoder.1.self.q.weight", kV, kV + at, kSure);
  }
  set("decoder.1.self.k.weight", kV, kV, -1);
  return model;
}

// RMSNorm, rotary positions, a gated feed-forward layer, two key/value heads for four queries.
inline std::unique_ptr<LayersModel> rotary_grouped_model(uint64_t seed) {
  LayersDesign design{.vocabulary = 17, .width = 16, .longest = 16, .positions = false};
  for (int64_t layer = 0; layer < 2; ++layer) {
    const std::string place = "decoder." + std::to_string(layer);
    design.layers.push_back({.width = design.width,
                             .heads = 4,
                             .kv_heads = 2,
                             .hidden = 12,
                             .activation = nn::Activation::silu,
                             .norm_place = nn::NormPlace::pre,
                             .norm_kind = nn::NormKind::rms_norm,
                             .causal = true,
                             .rotation = {.rates = {1, 0.1F}},
                             .qkv_bias = false,
                             .out_bias = false,
                             .feed_forward_bias = false,
                             .names = {.self = layer_attention_names(place),
                                       .self_norm = place + ".norm_1",
                                       .feed_forward_norm = place + ".norm_2",
                                       .first = place + ".up",
                                       .second = place + ".down",
                                       .gate = place + ".gate"},
                             .place = place});
  }
  auto model = std::make_unique<LayersModel>(design);
  models::fill(*model, seed);
  return model;
}

// A GPT, a BERT, an encoder-decoder and one of the newer blocks, without kinks for finite
// differences.
inline std::vector<std::unique_ptr<models::Model>> one_of_each_kind() {
  models::Seq2SeqConfig translator = models::small_seq2seq();
  translator.activation = nn::Activation::gelu;
  std::vector<std::unique_ptr<models::Model>> all;
  all.push_back(std::make_unique<models::Gpt>(models::small_gpt()));
  all.push_back(std::make_unique<models::Bert>(models::small_bert()));
  all.push_back(std::make_unique<models::Seq2Seq>(translator));
  for (const auto& model : all) models::fill(*model, 3);
  all.push_back(rotary_grouped_model(3));
  return all;
}

}  // namespace headlight::heads
