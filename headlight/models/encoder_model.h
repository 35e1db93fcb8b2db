// EncoderModel: layers that see both ways, of any family that reads masked words and makes sentence
// vectors. What families differ in is data in its design.
#pragma once

#include <optional>
#include <vector>

#include "headlight/models/classifier.h"
#include "headlight/models/decoder_model.h"

namespace headlight::models {

// The head that predicts masked words: a layer with an activation, a norm, and the output layer.
struct MaskedWordsDesign {
  std::string transform = {};  // stem
  bool transform_bias = true;
  nn::Activation activation = nn::Activation::gelu;
  std::string norm = {};    // stem
  std::string weight = {};  // of the output layer where it is not tied
  std::string bias = {};    // of the output layer; empty: none
  // Another name under which folders may hold the bias. Where the head is not tied, it is the one
  // that counts; empty: there is none.
  std::string layer_bias = {};
};

// What a family makes of its configuration. Layers have their places ("encoder.0") and the names of
// the folder's tensors.
struct EncoderDesign {
  std::string_view type = {};          // outlives the design
  std::string_view architecture = {};  // of a folder without the head, as transformers calls it
  std::string_view masked_architecture = {};  // ... and with it
  io::Json::Object config = {};  // but for what is below: architectures, ties, ids, heads
  int64_t vocab_size = 0;
  int64_t embedding_width = 0;                  // of tables and of the head; usually the layers'
  std::string table = {};                       // stem of the table's name
  nn::SequenceEmbeddingOptions embedding = {};  // its max_length is the context's
  std::string segments = {};                    // stem; empty: texts are not told apart
  int64_t segment_rows = 0;
  nn::NormOptions norm = {};        // of all norms outside layers; width and place are left open
  std::string embedding_norm = {};  // stem
  std::string projection = {};      // stem: from the embedding's width to the layers'; empty: none
  float dropout = 0;                // after the embedding's norm
  std::vector<nn::TransformerBlockOptions> layers = {};
  std::vector<size_t> shared = {};  // of each layer: the layer whose parameters it has; empty: own
  std::string final_norm = {};      // stem; empty: none
  std::string pooler = {};          // stem; empty: none
  std::optional<MaskedWordsDesign> masked_words = {};
  std::optional<ClassifierDesign> classifier = {};  // its width is left open
  bool tied_head = true;                            // the output layer is the embedding table
  bool own_bias = false;  // tied, and the bias under its other name counts all the same
  SpecialIds special_ids = {};
  bool (*ignored)(const std::string& name, const nn::StoredTensor& tensor) = nullptr;
  // First numbers of all parameters; null: normal ones, of deviation 0.02.
  void (*draw)(const nn::Parameters& parameters, const EncoderDesign& design,
               uint64_t seed) = nullptr;
};

class EncoderModel : public Model {
 public:
  // Throws Error(bad_input) for a design that cannot be.
  explicit EncoderModel(EncoderDesign design);

  static constexpr Capabilities kCapabilities = {
      .fills_masks = true, .embeds = true, .classifies = true};
  std::string_view type() const override { return design_.type; }
  Capabilities capabilities() const override {
    return {.fills_masks = has_logits(), .embeds = true, .classifies = classifier_.has_value()};
  }
  io::Json config() const override;
  int64_t vocab_size() const override { return design_.vocab_size; }
  int64_t hidden_width() const override { return design_.layers.front().width; }
  int64_t context_length() const override { return design_.embedding.max_length; }
  const SpecialIds& special_ids() const override { return design_.special_ids; }

  nn::Parameters parameters() const override;
  nn::StateDict state() const override;  // an untied head's bias under both of its names
  std::vector<TiedCopy> tied_copies() const override;
  void draw(uint64_t seed) override;
  std::vector<nn::MultiHeadAttention*> attentions() override { return layers_.attentions(); }
  Parts parts() const override;
  std::unique_ptr<Model> with_heads(const HeadsLeft& left) const override;

  using Model::loss;
  bool reads_segments() const override { return segments_.has_value(); }
  Value forward(Context& context, const Batch& batch) const override;
  bool has_logits() const override { return masked_words_.has_value(); }
  Value logits(Context& context, const Value& output) const override;
  Value loss(Context& context, const Value& output, const Tensor& targets,
             float label_smoothing) const override;
  Tensor sentence_vectors(Context& context, const Value& output, const Tensor& lens = {},
                          Pooling pooling = Pooling::mean) const override;
  const Classifier* classifier() const override { return classifier_ ? &*classifier_ : nullptr; }

 private:
  struct MaskedWords {
    nn::Linear transform;
    nn::Norm norm;
    nn::OutputLayer output;
  };
  bool ignores(const std::string& name, const nn::StoredTensor& tensor) const override;
  const MaskedWords& masked_words() const;
  Value transformed(Context& context, const Value& output) const;
  Value segments_of(Context& context, const Batch& batch) const;

  EncoderDesign design_;
  nn::SequenceEmbedding embedding_;
  std::optional<nn::Embedding> segments_;
  nn::Norm embedding_norm_;
  std::optional<nn::Linear> projection_;
  nn::TransformerStack layers_;
  std::optional<nn::Linear> pooler_;
  std::optional<MaskedWords> masked_words_;
  std::optional<Classifier> classifier_;
};

// Its size, known before it is made, and making it, tied or not.
ModelPlan plan_of(const EncoderDesign& design);

// A row of length 1 for each sequence of (B, T, C): the mean of those that count, or the first.
Tensor pooled_rows(Context& context, std::string_view type, const Value& output, const Tensor& lens,
                   Pooling pooling);

}  // namespace headlight::models
