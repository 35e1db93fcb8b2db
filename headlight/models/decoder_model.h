// DecoderModel: a decoder alone, of any family. What families differ in is data in its design.
#pragma once

#include "headlight/models/architecture.h"
#include "headlight/models/classifier.h"

namespace headlight::models {

// What a family makes of its configuration. Layers have their places ("decoder.0"), the names of
// the folder's tensors and, where heads have been pruned, those that are left.
struct DecoderDesign {
  std::string_view type = {};  // outlives the design
  // config.json but for what is below: tie_word_embeddings, special ids and heads left.
  io::Json::Object config = {};
  int64_t vocab_size = 0;
  std::string table = {};  // stem of the embedding table's name
  // Where the table is narrower than the layers: its width, with `embedding.projection`, and the
  // stem of the layer that leads back to it before the output layer.
  int64_t table_width = 0;  // 0: the layers'
  std::string output_projection = {};
  nn::SequenceEmbeddingOptions embedding = {};  // its max_length is the context's
  std::vector<nn::TransformerBlockOptions> layers = {};
  std::string final_norm = {};  // stem; empty: none
  nn::NormOptions final_norm_options = {};
  std::string head = "lm_head";  // stem of the output layer's name
  bool tied_head = false;        // the output layer is the embedding table
  // In place of the output layer, which is then unused; its widths are left open.
  std::optional<ClassifierDesign> classifier = {};
  SpecialIds special_ids = {};
  // Tensors of other people's folders that are no parameters; null: none.
  bool (*ignored)(const std::string& name, const nn::StoredTensor& tensor) = nullptr;
};

// The attentions of layers, with the heads that they have when none is pruned.
std::vector<AttentionHeads> heads_of_layers(const std::vector<nn::TransformerBlockOptions>& layers);
// Gives each layer the heads that are left; throws Error(bad_input) for those that it has not.
void set_heads_left(std::vector<nn::TransformerBlockOptions>& layers, const HeadsLeft& left,
                    std::string_view type);

// What set_heads_left has set.
HeadsLeft heads_left_in(const std::vector<nn::TransformerBlockOptions>& layers);

class DecoderModel : public Model {
 public:
  // Throws Error(bad_input) for a design that cannot be.
  explicit DecoderModel(DecoderDesign design);

  static constexpr Capabilities kCapabilities = {.continues_prompt = true, .classifies = true};
  std::string_view type() const override { return design_.type; }
  Capabilities capabilities() const override {
    return {.continues_prompt = has_logits(), .classifies = !has_logits()};
  }
  io::Json config() const override;
  int64_t vocab_size() const override { return design_.vocab_size; }
  int64_t hidden_width() const override { return design_.layers.front().width; }
  int64_t context_length() const override { return design_.embedding.max_length; }
  const SpecialIds& special_ids() const override { return design_.special_ids; }

  nn::Parameters parameters() const override;
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

  DecoderDesign design_;
  Decoder decoder_;
  std::optional<Classifier> classifier_;
};

// Where the folder's model classifies: its head, which reads the last row, in place of the output
// layer.
std::optional<ClassifierDesign> last_row_classifier(const io::Json& config, const std::string& path,
                                                    const SpecialIds& special_ids);
// What is said where a model that classifies is asked for words.
[[noreturn]] void refuse_words(std::string_view type);

// Its size, known before it is made, and making it, tied or not.
ModelPlan plan_of(const DecoderDesign& design);

}  // namespace headlight::models
