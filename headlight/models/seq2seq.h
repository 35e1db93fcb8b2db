// Seq2Seq: the encoder-decoder Transformer with every switch of a headlight-seq2seq folder.
#pragma once

#include "headlight/models/architecture.h"

namespace headlight::models {

// The defaults are those of the paper.
struct Seq2SeqConfig {
  int64_t vocab_size = 0;
  int64_t decoder_vocab_size = 0;  // 0: vocab_size
  int64_t d_model = 512;
  int64_t encoder_layers = 6;
  int64_t decoder_layers = 6;
  int64_t encoder_attention_heads = 8;
  int64_t decoder_attention_heads = 8;
  int64_t head_dim = 0;  // width of a head; 0: d_model / heads, which must be whole
  int64_t encoder_ffn_dim = 2048;
  int64_t decoder_ffn_dim = 2048;
  int64_t max_position_embeddings = 1024;
  nn::Activation activation = nn::Activation::relu;
  bool normalize_before = false;  // pre-norm
  bool final_layer_norm = false;  // a norm after each stack
  bool scale_embedding = true;    // embeddings times sqrt(d_model)
  bool tied_head = true;          // the output layer is the decoder's embedding table
  bool shared_embeddings = true;  // encoder and decoder have one table; needs one vocabulary
  bool head_bias = false;
  float layer_norm_eps = 1e-5F;
  bool learned_positions = false;
  // Of sinusoidal positions: halves, half_minus_one and the number of the first position.
  bool position_halves = false;
  bool position_half_minus_one = false;
  int64_t position_start = 0;
  float dropout = 0;  // of embeddings and of what each sublayer adds
  float attention_dropout = 0;
  float activation_dropout = 0;
  SpecialIds special_ids = {};
  HeadsLeft heads_left = {};
};

// Numbers in all parameters, known before any is made.
int64_t parameter_count(const Seq2SeqConfig& config);

// The attentions that the configuration describes.
std::vector<AttentionHeads> attention_heads(const Seq2SeqConfig& config);

class Seq2Seq : public Model {
 public:
  explicit Seq2Seq(const Seq2SeqConfig& config);
  static Seq2SeqConfig read_config(const io::Json& json, const std::string& path);

  static constexpr std::string_view kType = "headlight-seq2seq";
  static constexpr Capabilities kCapabilities = {.translates = true};
  std::string_view type() const override { return kType; }
  Capabilities capabilities() const override { return kCapabilities; }
  io::Json config() const override;
  int64_t vocab_size() const override { return config_.decoder_vocab_size; }
  int64_t source_vocab_size() const override { return config_.vocab_size; }
  int64_t hidden_width() const override { return config_.d_model; }
  int64_t context_length() const override { return config_.max_position_embeddings; }
  const SpecialIds& special_ids() const override { return config_.special_ids; }
  const Seq2SeqConfig& seq2seq_config() const noexcept { return config_; }

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
  // Encodes source.source_ids; decoding then begins with special_ids().decoder_start.
  Decoding start(Context& context, const Batch& source) const override;

 private:
  bool ignores(const std::string& name, const nn::StoredTensor& tensor) const override;

  Seq2SeqConfig config_;
  nn::Embedding source_table_;
  nn::Embedding target_table_;  // the same when shared
  nn::SequenceEmbedding encoder_embedding_;
  nn::TransformerStack encoder_;
  Decoder decoder_;
};

Architecture seq2seq_architecture();

}  // namespace headlight::models
