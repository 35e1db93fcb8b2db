// Gpt: the decoder-only Transformer of GPT-2 and nanoGPT.
#pragma once

#include "headlight/models/architecture.h"
#include "headlight/models/classifier.h"

namespace headlight::models {

struct GptConfig {
  int64_t block_size = 1024;  // most ids of a sequence
  int64_t vocab_size = 50257;
  int64_t n_layer = 12;
  int64_t n_head = 12;
  int64_t n_embd = 768;
  int64_t n_inner = 0;  // width of the feed-forward layer; 0: 4 * n_embd
  float dropout = 0;
  std::optional<float> embedding_dropout = {};  // absent: the same
  std::optional<float> attention_dropout = {};  // absent: the same
  bool bias = true;                             // of linear layers and norms
  nn::Activation activation = nn::Activation::gelu_tanh;
  bool tied_head = true;  // the output layer is the embedding table
  float layer_norm_epsilon = 1e-5F;
  SpecialIds special_ids = {};
  HeadsLeft heads_left = {};
  std::optional<ClassifierDesign> classifier = {};  // in place of the output layer
  // Of all names but the head's. Hugging Face writes "transformer."; folders without are read too.
  std::string prefix = "transformer.";
};

// Numbers in all parameters, known before any is made.
int64_t parameter_count(const GptConfig& config);

class Gpt : public Model {
 public:
  // Throws Error(bad_input) for a configuration that cannot be.
  explicit Gpt(const GptConfig& config);
  static GptConfig read_config(const io::Json& json, const std::string& path);

  static constexpr std::string_view kType = "gpt2";
  static constexpr Capabilities kCapabilities = {.continues_prompt = true, .classifies = true};
  std::string_view type() const override { return kType; }
  Capabilities capabilities() const override {
    return {.continues_prompt = has_logits(), .classifies = !has_logits()};
  }
  io::Json config() const override;
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t hidden_width() const override { return config_.n_embd; }
  int64_t context_length() const override { return config_.block_size; }
  const SpecialIds& special_ids() const override { return config_.special_ids; }
  const GptConfig& gpt_config() const noexcept { return config_; }

  nn::Parameters parameters() const override;
  nn::StateDict state() const override;  // zeros for biases that there are not
  std::vector<TiedCopy> tied_copies() const override;
  void draw(uint64_t seed) override;
  std::vector<nn::MultiHeadAttention*> attentions() override;
  Parts parts() const override;
  std::unique_ptr<Model> with_heads(const HeadsLeft& left) const override;

  using Model::loss;
  Value forward(Context& context, const Batch& batch) const override;
  bool has_logits() const override { return !classifier_; }
  Value logits(Context& context, const Value& output) const override;
  Value loss(Context& context, const Value& output, const Tensor& targets,
             float label_smoothing) const override;
  Decoding start(Context& context, const Batch& source = {}) const override;
  const Classifier* classifier() const override { return classifier_ ? &*classifier_ : nullptr; }

 private:
  bool ignores(const std::string& name, const nn::StoredTensor& tensor) const override;

  GptConfig config_;
  Decoder decoder_;
  std::optional<Classifier> classifier_;
};

Architecture gpt2_architecture();

}  // namespace headlight::models
