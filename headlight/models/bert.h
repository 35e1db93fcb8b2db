// Bert: words, positions and segments, post-norm layers that see both ways, and where the folder
// has them the pooled output and the prediction of masked words.
#pragma once

#include <optional>

#include "headlight/models/architecture.h"
#include "headlight/models/classifier.h"

namespace headlight::models {

struct BertConfig {
  int64_t vocab_size = 30522;
  int64_t hidden_size = 768;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 12;
  int64_t intermediate_size = 3072;
  int64_t max_position_embeddings = 512;
  int64_t type_vocab_size = 2;
  nn::Activation activation = nn::Activation::gelu;
  float layer_norm_eps = 1e-12F;
  float dropout = 0;
  std::optional<float> attention_dropout = {};  // absent: the same
  bool pooler = true;
  bool masked_words = true;  // the head that predicts words
  bool tied_head = true;     // its weight is the embedding table
  // The head's bias is called cls.predictions.decoder.bias, not cls.predictions.bias: others
  // compute with it where both are there and differ, and it is the only one that counts without a
  // tie.
  bool decoder_bias = false;
  std::optional<Classes> classes = {};  // what it classifies by the pooled output
  float classifier_dropout = 0;
  SpecialIds special_ids = {};
  HeadsLeft heads_left = {};
  std::string prefix = "bert.";  // of all names but the head's
};

// Numbers in all parameters, known before any is made.
int64_t parameter_count(const BertConfig& config);

// The head of a folder that classifies; its pooler is part of it.
std::optional<ClassifierDesign> classifier_of(const BertConfig& config);

// The attentions that the configuration describes.
std::vector<AttentionHeads> attention_heads(const BertConfig& config);
// The width of a layer's heads together.
int64_t merged_width(const BertConfig& config, int64_t layer);

class Bert : public Model {
 public:
  explicit Bert(const BertConfig& config);
  static BertConfig read_config(const io::Json& json, const std::string& path);

  static constexpr std::string_view kType = "bert";
  static constexpr Capabilities kCapabilities = {
      .fills_masks = true, .embeds = true, .classifies = true};
  std::string_view type() const override { return kType; }
  Capabilities capabilities() const override {
    return {.fills_masks = has_logits(), .embeds = true, .classifies = classifier_.has_value()};
  }
  io::Json config() const override;
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t hidden_width() const override { return config_.hidden_size; }
  int64_t context_length() const override { return config_.max_position_embeddings; }
  const SpecialIds& special_ids() const override { return config_.special_ids; }

  nn::Parameters parameters() const override;
  nn::StateDict state() const override;  // an untied head's bias under both of its names
  std::vector<TiedCopy> tied_copies() const override;
  void draw(uint64_t seed) override;
  std::vector<nn::MultiHeadAttention*> attentions() override;
  Parts parts() const override;
  std::unique_ptr<Model> with_heads(const HeadsLeft& left) const override;

  using Model::loss;
  bool reads_segments() const override { return true; }
  Value forward(Context& context, const Batch& batch) const override;
  bool has_logits() const override { return masked_words_.has_value(); }
  // Of masked words.
  Value logits(Context& context, const Value& output) const override;
  Value loss(Context& context, const Value& output, const Tensor& targets,
             float label_smoothing) const override;
  // The mean over the rows that count, or the first row, brought to length 1: (B, C).
  Tensor sentence_vectors(Context& context, const Value& output, const Tensor& lens = {},
                          Pooling pooling = Pooling::mean) const override;
  const Classifier* classifier() const override { return classifier_ ? &*classifier_ : nullptr; }

  // tanh of a layer over the first row of each sequence, (B, C), without gradients; Error when
  // there is no pooler.
  Tensor pooled(Context& context, const Value& output) const;

 private:
  bool ignores(const std::string& name, const nn::StoredTensor& tensor) const override;

  // dense, activation and norm before the words' output layer
  struct MaskedWords {
    nn::Linear transform;
    nn::Norm norm;
    nn::OutputLayer output;
  };
  const MaskedWords& masked_words() const;
  Value transformed(Context& context, const Value& output) const;

  BertConfig config_;
  nn::SequenceEmbedding embedding_;
  nn::Embedding segments_;
  nn::Norm embedding_norm_;
  nn::TransformerStack layers_;
  std::optional<nn::Linear> pooler_;
  std::optional<MaskedWords> masked_words_;
  std::optional<Classifier> classifier_;
};

Architecture bert_architecture();

}  // namespace headlight::models
