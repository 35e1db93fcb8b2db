// Seq2Seq: two stacks, the second looking at the first.
#include "headlight/models/seq2seq.h"

#include <cmath>
#include <utility>

#include "headlight/models/parameters.h"

namespace headlight::models {
namespace {

[[noreturn]] void refuse_seq2seq(const char* where, const std::string& why) {
  base::refuse(Seq2Seq::kType, where, why);
}

Seq2SeqConfig completed(Seq2SeqConfig config) {
  if (config.decoder_vocab_size == 0) config.decoder_vocab_size = config.vocab_size;
  if (config.shared_embeddings && config.decoder_vocab_size != config.vocab_size) {
    refuse_seq2seq("embeddings", "vocabularies of " + std::to_string(config.vocab_size) + " and " +
                                     std::to_string(config.decoder_vocab_size) +
                                     " ids cannot share one table");
  }
  const auto usual = [&config](int64_t heads) { return config.head_dim * heads == config.d_model; };
  if (usual(config.encoder_attention_heads) && usual(config.decoder_attention_heads)) {
    config.head_dim = 0;
  }
  if (!config.heads_left.empty()) {
    config.heads_left =
        checked_heads_left(std::move(config.heads_left), attention_heads(config), Seq2Seq::kType);
  }
  return config;
}

nn::AttentionNames attention_names(const std::string& prefix) {
  return nn::AttentionNames{.weights = {"q_proj.weight", "k_proj.weight", "v_proj.weight"},
                            .biases = {"q_proj.bias", "k_proj.bias", "v_proj.bias"},
                            .output_weight = "out_proj.weight",
                            .output_bias = "out_proj.bias"}
      .with_prefix(prefix);
}

// "encoder" or "decoder", with what differs between them.
struct Side {
  std::string name;
  bool decodes;
  int64_t layers;
  int64_t heads;
  int64_t hidden;
};

Side encoder_side(const Seq2SeqConfig& config) {
  return {"encoder", false, config.encoder_layers, config.encoder_attention_heads,
          config.encoder_ffn_dim};
}

Side decoder_side(const Seq2SeqConfig& config) {
  return {"decoder", true, config.decoder_layers, config.decoder_attention_heads,
          config.decoder_ffn_dim};
}

nn::TransformerBlock block_of(const Seq2SeqConfig& config, const Side& side, int64_t layer) {
  const std::string name = side.name + ".layers." + std::to_string(layer) + ".";
  const std::string place = side.name + "." + std::to_string(layer);
  const nn::NormPlace norms = config.normalize_before ? nn::NormPlace::pre : nn::NormPlace::post;
  return nn::TransformerBlock({.width = config.d_model,
                               .heads = side.heads,
                               .self_heads_left = left_at(config.heads_left, place + ".self"),
                               .cross_heads_left = left_at(config.heads_left, place + ".cross"),
                               .head_dim = config.head_dim,
                               .hidden = side.hidden,
                               .activation = config.activation,
                               .norm_place = norms,
                               .causal = side.decodes,
                               .cross_attention = side.decodes,
                               .epsilon = config.layer_norm_eps,
                               .dropout = config.dropout,
                               .attention_dropout = config.attention_dropout,
                               .hidden_dropout = config.activation_dropout,
                               .names = {.self = attention_names(name + "self_attn."),
                                         .cross = attention_names(name + "encoder_attn."),
                                         .self_norm = name + "self_attn_layer_norm",
                                         .cross_norm = name + "encoder_attn_layer_norm",
                                         .feed_forward_norm = name + "final_layer_norm",
                                         .first = name + "fc1",
                                         .second = name + "fc2"},
                               .place = place});
}

nn::TransformerStack layers_of(const Seq2SeqConfig& config, const Side& side) {
  std::vector<nn::TransformerBlock> blocks;
  for (int64_t layer = 0; layer < side.layers; ++layer) {
    blocks.push_back(block_of(config, side, layer));
  }
  std::optional<nn::Norm> norm;
  if (config.final_layer_norm) {
    norm.emplace(side.name + ".layer_norm", nn::NormOptions{.width = config.d_model,
                                                            .epsilon = config.layer_norm_eps,
                                                            .place = side.name + ".norm"});
  }
  return {std::move(blocks), std::move(norm), side.name};
}

nn::SequenceEmbedding embedding_of(const Seq2SeqConfig& config, const Side& side,
                                   const nn::Embedding& table) {
  const float scale = config.scale_embedding ? std::sqrt(static_cast<float>(config.d_model)) : 1;
  const std::string learned = side.name + ".embed_positions";
  return {table,
          {.max_length = config.max_position_embeddings,
           .learned_positions = config.learned_positions ? learned : "",
           .position_start = config.position_start,
           .sinusoids = {.halves = config.position_halves,
                         .half_minus_one = config.position_half_minus_one},
           .scale = scale,
           .dropout = config.dropout,
           .place = side.name}};
}

nn::OutputLayer output_of(const Seq2SeqConfig& config, const nn::Embedding& table) {
  const int64_t ids = config.decoder_vocab_size;
  const nn::ParameterHandle weight =
      config.tied_head
          ? table.weight()
          : std::make_shared<nn::Parameter>("lm_head.weight", tensor::Shape{ids, config.d_model});
  nn::ParameterHandle bias;
  if (config.head_bias) {
    bias =
        std::make_shared<nn::Parameter>("lm_head.bias", Tensor::zeros(tensor::DType::f32, {ids}));
  }
  return nn::OutputLayer(weight, bias);
}

}  // namespace

std::vector<AttentionHeads> attention_heads(const Seq2SeqConfig& config) {
  std::vector<AttentionHeads> all;
  for (const Side& side : {encoder_side(config), decoder_side(config)}) {
    for (int64_t layer = 0; layer < side.layers; ++layer) {
      const std::string place = side.name + "." + std::to_string(layer);
      all.push_back({place + ".self", side.heads});
      if (side.decodes) all.push_back({place + ".cross", side.heads});
    }
  }
  return all;
}

Seq2Seq::Seq2Seq(const Seq2SeqConfig& config)
    : config_(completed(config)),
      source_table_(config_.shared_embeddings ? "shared" : "encoder.embed_tokens",
                    config_.vocab_size, config_.d_model),
      target_table_(
          config_.shared_embeddings
              ? source_table_
              : nn::Embedding("decoder.embed_tokens", config_.decoder_vocab_size, config_.d_model)),
      encoder_embedding_(embedding_of(config_, encoder_side(config_), source_table_)),
      encoder_(layers_of(config_, encoder_side(config_))),
      decoder_{.embedding = embedding_of(config_, decoder_side(config_), target_table_),
               .layers = layers_of(config_, decoder_side(config_)),
               .output = output_of(config_, target_table_)} {}

int64_t parameter_count(const Seq2SeqConfig& given) {
  const Seq2SeqConfig config = completed(given);
  const int64_t width = config.d_model;
  int64_t attentions = 0;
  for (const AttentionHeads& one : attention_heads(config)) {
    const int64_t head = config.head_dim == 0 ? width / one.heads : config.head_dim;
    const int64_t merged = count_left(config.heads_left, one.place, one.heads) * head;
    attentions += 4 * width * merged + 3 * merged + width;
  }
  const int64_t norm = 2 * width;
  const auto feed_forward = [width](int64_t hidden) { return 2 * width * hidden + hidden + width; };
  const int64_t encoder_layer = feed_forward(config.encoder_ffn_dim) + 2 * norm;
  const int64_t decoder_layer = feed_forward(config.decoder_ffn_dim) + 3 * norm;
  int64_t rows =
      config.shared_embeddings ? config.vocab_size : config.vocab_size + config.decoder_vocab_size;
  if (!config.tied_head) rows += config.decoder_vocab_size;
  if (config.learned_positions) {
    rows += 2 * (config.max_position_embeddings + config.position_start);
  }
  return rows * width + attentions + config.encoder_layers * encoder_layer +
         config.decoder_layers * decoder_layer + (config.final_layer_norm ? 2 * norm : 0) +
         (config.head_bias ? config.decoder_vocab_size : 0);
}

nn::Parameters Seq2Seq::parameters() const {
  return distinct_parameters({encoder_embedding_.parameters(), encoder_.parameters(),
                              decoder_.embedding.parameters(), decoder_.layers.parameters(),
                              decoder_.output.parameters()});
}

std::vector<Model::TiedCopy> Seq2Seq::tied_copies() const {
  std::vector<TiedCopy> copies;
  if (config_.tied_head) {
    copies.push_back({.name = "lm_head.weight", .original = target_table_.weight()->name()});
  }
  if (config_.shared_embeddings) {
    for (const char* side : {"encoder", "decoder"}) {
      copies.push_back({.name = std::string(side) + ".embed_tokens.weight",
                        .original = source_table_.weight()->name()});
    }
  }
  return copies;
}

bool Seq2Seq::ignores(const std::string& /*name*/, const nn::StoredTensor& /*tensor*/) const {
  return false;
}

void Seq2Seq::draw(uint64_t seed) { nn::draw_xavier_uniform(parameters(), seed); }

std::vector<nn::MultiHeadAttention*> Seq2Seq::attentions() {
  std::vector<nn::MultiHeadAttention*> all = encoder_.attentions();
  for (nn::MultiHeadAttention* attention : decoder_.layers.attentions()) all.push_back(attention);
  return all;
}

Parts Seq2Seq::parts() const {
  return {.encoder = &encoder_,
          .decoder = &decoder_.layers,
          .output = &decoder_.output,
          .encoder_table = source_table_.weight().get(),
          .decoder_table = target_table_.weight().get()};
}

std::unique_ptr<Model> Seq2Seq::with_heads(const HeadsLeft& left) const {
  Seq2SeqConfig config = config_;
  config.heads_left = left;
  return std::make_unique<Seq2Seq>(config);
}

Value Seq2Seq::encode(Context& context, const Tensor& source_ids, const Tensor& source_lens) const {
  if (!source_ids.defined())
    refuse_seq2seq("source ids", "are missing: the encoder has nothing to read");
  const Value x = encoder_embedding_.forward(context, source_ids, {.lens = source_lens});
  return encoder_.forward(context, x, {.lens = source_lens});
}

Value Seq2Seq::forward(Context& context, const Batch& batch) const {
  const Value memory = encode(context, batch.source_ids, batch.source_lens);
  if (batch.ids.defined() && batch.ids.rank() == 2 && batch.ids.size(0) != memory.size(0)) {
    refuse_seq2seq("ids", std::to_string(batch.ids.size(0)) + " sequences for " +
                              std::to_string(memory.size(0)) + " sources");
  }
  return decoder_.forward(context, batch.ids,
                          {.lens = batch.lens, .memory = memory, .memory_lens = batch.source_lens});
}

Value Seq2Seq::logits(Context& context, const Value& output) const {
  return decoder_.output.logits(context, output);
}

Value Seq2Seq::loss(Context& context, const Value& output, const Tensor& targets,
                    float label_smoothing) const {
  return decoder_.output.loss(context, output, targets, label_smoothing);
}

Decoding Seq2Seq::start(Context& context, const Batch& source) const {
  const Value memory = encode(context, source.source_ids, source.source_lens);
  std::vector<nn::LayerCache> caches = decoder_.no_caches();
  decoder_.layers.remember(context, memory, source.source_lens, caches);
  return {decoder_, std::move(caches)};
}

}  // namespace headlight::models
