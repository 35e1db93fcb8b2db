// EncoderDecoderModel: two stacks, the second looking at the first, of families of other programs.
// What they differ in is data in its design.
#pragma once

#include <optional>
#include <vector>

#include "headlight/models/decoder_model.h"

namespace headlight::models {

// One of the two stacks.
struct StackDesign {
  std::string table = {};  // stem of its table's name, where it has its own
  nn::SequenceEmbeddingOptions embedding = {};
  std::vector<nn::TransformerBlockOptions> layers = {};
  std::string final_norm = {};  // stem; empty: none
  nn::NormOptions final_norm_options = {};
  float output_dropout = 0;
  // Name of the table of position biases that all layers share, (buckets, heads); empty: none.
  std::string position_bias = {};
};

// What a family makes of its configuration. Layers have their places ("decoder.0") and the names of
// the folder's tensors.
struct EncoderDecoderDesign {
  std::string_view type = {};                   // outlives the design
  io::Json::Object config = {};                 // but for special ids and heads left
  std::string tie_key = "tie_word_embeddings";  // says in config.json whether the head is tied
  int64_t vocab_size = 0;
  int64_t target_vocab_size = 0;
  std::string shared_table = {};  // stem; empty: each side has its own
  StackDesign encoder = {};
  StackDesign decoder = {};
  std::string head = "lm_head";  // stem
  bool tied_head = true;         // the output layer is the decoder's table
  float output_scale = 1;        // of what the output layer reads
  std::string logits_bias = {};  // whole name, (1, V): added to logits, not trained; empty: none
  SpecialIds special_ids = {};
  bool (*ignored)(const std::string& name, const nn::StoredTensor& tensor) = nullptr;
  // First numbers of all parameters; null: normal ones, of deviation 0.02.
  void (*draw)(const nn::Parameters& parameters, const EncoderDecoderDesign& design,
               uint64_t seed) = nullptr;
};

class EncoderDecoderModel : public Model {
 public:
  // Throws Error(bad_input) for a design that cannot be.
  explicit EncoderDecoderModel(EncoderDecoderDesign design);

  static constexpr Capabilities kCapabilities = {.translates = true};
  std::string_view type() const override { return design_.type; }
  Capabilities capabilities() const override { return kCapabilities; }
  io::Json config() const override;
  int64_t vocab_size() const override { return design_.target_vocab_size; }
  int64_t source_vocab_size() const override { return design_.vocab_size; }
  int64_t hidden_width() const override { return design_.decoder.layers.front().width; }
  int64_t context_length() const override { return design_.decoder.embedding.max_length; }
  const SpecialIds& special_ids() const override { return design_.special_ids; }

  nn::Parameters parameters() const override;
  std::vector<TiedCopy> tied_copies() const override;
  void draw(uint64_t seed) override;
  std::vector<nn::MultiHeadAttention*> attentions() override;
  Parts parts() const override;
  std::unique_ptr<Model> with_heads(const HeadsLeft& left) const override;

  using Model::loss;
  // The encoder's output (B, S, C).
  Value encode(Context& context, const Tensor& source_ids, const Tensor& source_lens) const;
  Value forward(Context& context, const Batch& batch) const override;
  Value logits(Context& context, const Value& output) const override;
  Value loss(Context& context, const Value& output, const Tensor& targets,
             float label_smoothing) const override;
  Decoding start(Context& context, const Batch& source) const override;

 private:
  bool ignores(const std::string& name, const nn::StoredTensor& tensor) const override;

  EncoderDecoderDesign design_;
  nn::Embedding source_table_;
  nn::Embedding target_table_;  // the same when shared
  nn::SequenceEmbedding encoder_embedding_;
  nn::TransformerStack encoder_;
  Decoder decoder_;
};

// Its size, known before it is made, and making it, tied or not.
ModelPlan plan_of(const EncoderDecoderDesign& design);

// The attentions of both stacks, and setting the heads that are left of each.
std::vector<AttentionHeads> heads_of_stacks(const EncoderDecoderDesign& design);
void set_heads_left(EncoderDecoderDesign& design, const HeadsLeft& left);

}  // namespace headlight::models
