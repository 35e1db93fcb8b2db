// Marian: names and shapes, its configuration both ways, and its row in the registry.
#include "headlight/models/marian.h"

#include <algorithm>
#include <cmath>

#include "headlight/models/config_reader.h"

namespace headlight::models {
namespace {

constexpr std::string_view kMarianType = "marian";

// "encoder" or "decoder", with what differs between them.
struct MarianSide {
  std::string name;
  bool decodes;
  int64_t layers;
  int64_t heads;
  int64_t hidden;
};

nn::AttentionNames marian_attention(const std::string& prefix) {
  return nn::AttentionNames{.weights = {"q_proj.weight", "k_proj.weight", "v_proj.weight"},
                            .biases = {"q_proj.bias", "k_proj.bias", "v_proj.bias"},
                            .output_weight = "out_proj.weight",
                            .output_bias = "out_proj.bias"}
      .with_prefix(prefix);
}

StackDesign marian_stack(const MarianConfig& config, const MarianSide& side) {
  const std::string name = config.prefix + side.name + ".";
  const float scale = config.scale_embedding ? std::sqrt(static_cast<float>(config.d_model)) : 1;
  StackDesign stack{.table = name + "embed_tokens",
                    .embedding = {.max_length = config.max_position_embeddings,
                                  .sinusoids = {.halves = true},
                                  .scale = scale,
                                  .dropout = config.dropout,
                                  .place = side.name}};
  for (int64_t layer = 0; layer < side.layers; ++layer) {
    const std::string own = name + "layers." + std::to_string(layer) + ".";
    stack.layers.push_back({.width = config.d_model,
                            .heads = side.heads,
                            .hidden = side.hidden,
                            .activation = config.activation,
                            .causal = side.decodes,
                            .cross_attention = side.decodes,
                            .dropout = config.dropout,
                            .attention_dropout = config.attention_dropout,
                            .hidden_dropout = config.activation_dropout,
                            .names = {.self = marian_attention(own + "self_attn."),
                                      .cross = marian_attention(own + "encoder_attn."),
                                      .self_norm = own + "self_attn_layer_norm",
                                      .cross_norm = own + "encoder_attn_layer_norm",
                                      .feed_forward_norm = own + "final_layer_norm",
                                      .first = own + "fc1",
                                      .second = own + "fc2"},
                            .place = side.name + "." + std::to_string(layer)});
  }
  return stack;
}

io::Json::Object marian_json(const MarianConfig& config) {
  return {{"architectures", io::Json::Array{"MarianMTModel"}},
          {"model_type", kMarianType},
          {"is_encoder_decoder", true},
          {"vocab_size", config.vocab_size},
          {"decoder_vocab_size", config.decoder_vocab_size},
          {"d_model", config.d_model},
          {"encoder_layers", config.encoder_layers},
          {"decoder_layers", config.decoder_layers},
          {"encoder_attention_heads", config.encoder_attention_heads},
          {"decoder_attention_heads", config.decoder_attention_heads},
          {"encoder_ffn_dim", config.encoder_ffn_dim},
          {"decoder_ffn_dim", config.decoder_ffn_dim},
          {"max_position_embeddings", config.max_position_embeddings},
          {"activation_function", kernels::name_of(config.activation)},
          {"scale_embedding", config.scale_embedding},
          {"share_encoder_decoder_embeddings", config.shared_embeddings},
          {"dropout", short_number(config.dropout)},
          {"attention_dropout", short_number(config.attention_dropout)},
          {"activation_dropout", short_number(config.activation_dropout)}};
}

// Positions are computed; earlier versions stored them, and a number of the version.
bool is_marian_buffer(const std::string& name, const nn::StoredTensor& /*tensor*/) {
  return name.ends_with("coder.embed_positions.weight") || name.ends_with("coder.version");
}

// Other numbers than sinusoids would be read by transformers, and not here.
void check_stored_positions(const MarianConfig& config, const io::StoredTensors& tensors) {
  const tensor::Shape shape{config.max_position_embeddings, config.d_model};
  for (const char* side : {"encoder", "decoder"}) {
    const std::string name = config.prefix + side + ".embed_positions.weight";
    const io::StoredTensors::Entry* entry = tensors.find(name);
    if (entry == nullptr) continue;
    if (entry->array.shape != shape) {
      base::refuse("load", tensors.path_of(*entry),
                   name + " is " + entry->array.shape.text() + ", positions are " + shape.text());
    }
    const tensor::Tensor stored = tensors.load(*entry);
    const float rounding = stored.dtype() == tensor::DType::f32   ? 1e-5F
                           : stored.dtype() == tensor::DType::f16 ? 1e-3F
                                                                  : 1e-2F;
    const tensor::Tensor given = tensor::to_float32(stored);
    tensor::Tensor computed = tensor::Tensor::uninitialized(tensor::DType::f32, shape);
    kernels::sinusoids({.halves = true}, computed.mutable_matrix());
    for (int64_t i = 0; i < given.elements(); ++i) {
      if (std::abs(given.data<float>()[i] - computed.data<float>()[i]) <= rounding) continue;
      base::refuse("load", tensors.path_of(*entry),
                   name + " holds other numbers than sinusoids, which Marian's positions are");
    }
  }
}

// The same, and the table that both sides would share and do not read.
bool is_unread_by_marian(const std::string& name, const nn::StoredTensor& tensor) {
  return is_marian_buffer(name, tensor) || name == "model.shared.weight" || name == "shared.weight";
}

void read_marian_sizes(const ConfigReader& reader, MarianConfig& config) {
  config.vocab_size = reader.size("vocab_size", kMostIds);
  config.decoder_vocab_size = reader.size("decoder_vocab_size", kMostIds, config.vocab_size);
  config.d_model = reader.size(reader.spelling("d_model", "hidden_size"), kMostWidth);
  config.encoder_layers = reader.size("encoder_layers", kMostLayers);
  config.decoder_layers = reader.size("decoder_layers", kMostLayers);
  config.encoder_attention_heads = reader.size("encoder_attention_heads", kMostWidth);
  config.decoder_attention_heads = reader.size("decoder_attention_heads", kMostWidth);
  config.encoder_ffn_dim = reader.size("encoder_ffn_dim", 4 * kMostWidth);
  config.decoder_ffn_dim = reader.size("decoder_ffn_dim", 4 * kMostWidth);
  config.max_position_embeddings = reader.size("max_position_embeddings", kMostIds);
  reader.require_same("encoder_layers", "num_hidden_layers");
  reader.require_same("encoder_attention_heads", "num_attention_heads");
  reader.check_heads("encoder_attention_heads", config.encoder_attention_heads, config.d_model);
  reader.check_heads("decoder_attention_heads", config.decoder_attention_heads, config.d_model);
}

MarianConfig read_marian_config(const ConfigReader& reader) {
  MarianConfig config;
  read_marian_sizes(reader, config);
  config.activation = reader.activation("activation_function", config.activation);
  config.scale_embedding = reader.boolean("scale_embedding", false);
  config.shared_embeddings = reader.boolean("share_encoder_decoder_embeddings", true);
  if (config.shared_embeddings && config.decoder_vocab_size != config.vocab_size) {
    reader.refuse("decoder_vocab_size", "is " + std::to_string(config.decoder_vocab_size) +
                                            ", a table that both sides share has vocab_size " +
                                            std::to_string(config.vocab_size));
  }
  config.tied_head = reader.boolean("tie_word_embeddings", true);
  config.dropout = reader.fraction("dropout", true, 0);
  config.attention_dropout = reader.fraction("attention_dropout", true, 0);
  config.activation_dropout = reader.fraction("activation_dropout", true, 0);
  config.special_ids =
      reader.special_ids(std::max(config.vocab_size, config.decoder_vocab_size), OutsideIds::none);
  // What earlier versions could be built with.
  reader.require("normalize_before", false);
  reader.require("normalize_embedding", false);
  reader.require("add_final_layer_norm", false);
  reader.require("add_bias_logits", false);
  reader.require("static_position_embeddings", true);
  refuse_quantized(reader);
  refuse_unread_settings(reader, kMarianType);
  return config;
}

ModelPlan read_marian(const io::Json& json, const std::string& path,
                      const io::StoredTensors& tensors) {
  const ConfigReader reader(json, path);
  MarianConfig config = read_marian_config(reader);
  if (!any_starts_with(tensors, config.prefix)) config.prefix.clear();
  // Without ties transformers 5 gives each side its own table, whatever is said of sharing.
  const bool own_tables = config.shared_embeddings && !config.tied_head &&
                          tensors.find(config.prefix + "encoder.embed_tokens.weight") != nullptr;
  if (own_tables) config.shared_embeddings = false;
  check_stored_positions(config, tensors);
  EncoderDecoderDesign design = design_of(config);
  if (tensors.find(design.logits_bias) == nullptr) design.logits_bias.clear();
  if (own_tables) design.ignored = is_unread_by_marian;
  set_heads_left(design, read_heads_left(json, path, heads_of_stacks(design)));
  return plan_of(design);
}

ModelPlan fresh_marian(const ModelRequest& request) {
  const auto layers = [&request](int64_t own) { return own > 0 ? own : request.n_layer; };
  const int64_t hidden = plain_hidden(request);
  return plan_of(design_of(MarianConfig{.vocab_size = request.vocab_size,
                                        .d_model = request.n_embd,
                                        .encoder_layers = layers(request.n_encoder_layer),
                                        .decoder_layers = layers(request.n_decoder_layer),
                                        .encoder_attention_heads = request.n_head,
                                        .decoder_attention_heads = request.n_head,
                                        .encoder_ffn_dim = hidden,
                                        .decoder_ffn_dim = hidden,
                                        .max_position_embeddings = request.block_size,
                                        .activation = *request.activation,
                                        .scale_embedding = true,
                                        .tied_head = *request.tie_embeddings,
                                        .dropout = request.dropout,
                                        .special_ids = request.special_ids}));
}

}  // namespace

EncoderDecoderDesign design_of(const MarianConfig& given) {
  MarianConfig config = given;
  if (config.decoder_vocab_size == 0) config.decoder_vocab_size = config.vocab_size;
  EncoderDecoderDesign design{
      .type = kMarianType,
      .config = marian_json(config),
      .vocab_size = config.vocab_size,
      .target_vocab_size = config.decoder_vocab_size,
      .shared_table = config.shared_embeddings ? config.prefix + "shared" : "",
      .encoder = marian_stack(config, {"encoder", false, config.encoder_layers,
                                       config.encoder_attention_heads, config.encoder_ffn_dim}),
      .decoder = marian_stack(config, {"decoder", true, config.decoder_layers,
                                       config.decoder_attention_heads, config.decoder_ffn_dim}),
      .tied_head = config.tied_head,
      .logits_bias = "final_logits_bias",
      .special_ids = config.special_ids,
      .ignored = is_marian_buffer};
  set_heads_left(design, config.heads_left);
  return design;
}

Architecture marian_architecture() {
  return {.model_type = kMarianType,
          .capabilities = EncoderDecoderModel::kCapabilities,
          .read = read_marian,
          .fresh = fresh_marian,
          .choices = {.bias = always(true),
                      .tie_embeddings = by_default(true),
                      .pre_norm = always(false),
                      .learned_positions = always(false),
                      .activation = by_default(nn::Activation::silu),
                      .two_stacks = true}};
}

}  // namespace headlight::models
