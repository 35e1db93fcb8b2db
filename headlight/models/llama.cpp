// Llama and its kin: layers as their configurations have them, and the names of their tensors.
#include "headlight/models/llama.h"

#include <cmath>

#include "headlight/models/config_reader.h"
#include "headlight/models/rotary_config.h"

namespace headlight::models {
namespace {

bool is_set(const std::vector<bool>& layers, int64_t layer) {
  return !layers.empty() && layers[static_cast<size_t>(layer)];
}

nn::AttentionNames llama_attention_names(const LlamaFamily& family, const std::string& prefix) {
  nn::AttentionNames names{.weights = {"q_proj.weight", "k_proj.weight", "v_proj.weight"},
                           .biases = {"q_proj.bias", "k_proj.bias", "v_proj.bias"},
                           .output_weight = "o_proj.weight",
                           .output_bias = "o_proj.bias"};
  if (family.query_key_norms) {
    names.query_norm = "q_norm";
    names.key_norm = "k_norm";
  }
  return names.with_prefix(prefix);
}

nn::RotaryOptions llama_rotation(const LlamaFamily& family, const LlamaConfig& config,
                                 int64_t layer) {
  if (is_set(config.unrotated, layer)) return {};
  const bool own = family.window_rope_theta > 0 && is_set(config.windowed, layer);
  return nn::rotary_options(own ? config.window_rotary : config.rotary);
}

nn::TransformerNames llama_names(const LlamaFamily& family, const std::string& name) {
  nn::TransformerNames names{.self = llama_attention_names(family, name + "self_attn."),
                             .self_norm = name + "input_layernorm",
                             .feed_forward_norm = name + "post_attention_layernorm",
                             .first = name + "mlp.up_proj",
                             .second = name + "mlp.down_proj",
                             .gate = name + "mlp.gate_proj"};
  if (family.gemma) {
    names.self_output_norm = name + "post_attention_layernorm";
    names.feed_forward_norm = name + "pre_feedforward_layernorm";
    names.feed_forward_output_norm = name + "post_feedforward_layernorm";
  }
  return names;
}

nn::TransformerBlockOptions llama_layer(const LlamaFamily& family, const LlamaConfig& config,
                                        int64_t layer) {
  const std::string name = config.prefix + "layers." + std::to_string(layer) + ".";
  const float norm_offset = family.gemma ? 1 : 0;
  std::optional<float> scale;
  if (config.score_scalar > 0) scale = 1 / std::sqrt(static_cast<float>(config.score_scalar));
  return {.width = config.hidden_size,
          .heads = config.num_attention_heads,
          .kv_heads = config.num_key_value_heads,
          .head_dim = config.head_dim,
          .hidden = config.intermediate_size,
          .activation = config.activation,
          .norm_place = family.gemma ? nn::NormPlace::both : nn::NormPlace::pre,
          .norm_kind = nn::NormKind::rms_norm,
          .norm_weight_offset = norm_offset,
          .scale = scale,
          .window = is_set(config.windowed, layer) ? config.window : 0,
          .causal = true,
          .query_key_norm = {.epsilon = config.rms_norm_eps, .weight_offset = norm_offset},
          .rotation = llama_rotation(family, config, layer),
          .qkv_bias = family.always_qkv_bias || config.attention_bias,
          .out_bias = config.attention_bias,
          .feed_forward_bias = config.mlp_bias,
          .epsilon = config.rms_norm_eps,
          .attention_dropout = config.attention_dropout,
          .names = llama_names(family, name),
          .place = "decoder." + std::to_string(layer)};
}

// Kept in folders of earlier versions, and computed here.
bool is_rotary_buffer(const std::string& name, const nn::StoredTensor& /*tensor*/) {
  return name.ends_with("rotary_emb.inv_freq");
}

io::Json::Array layer_types(const LlamaConfig& config) {
  io::Json::Array types;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    types.emplace_back(is_set(config.windowed, layer) ? "sliding_attention" : "full_attention");
  }
  return types;
}

void write_switches(io::Json::Object& json, const LlamaFamily& family, const LlamaConfig& config) {
  if (family.attention_bias) json.emplace_back("attention_bias", config.attention_bias);
  if (family.mlp_bias) json.emplace_back("mlp_bias", config.mlp_bias);
  if (family.windows != WindowedLayers::none) {
    json.emplace_back("sliding_window", config.window > 0 ? io::Json(config.window) : io::Json());
  }
  if (family.windows == WindowedLayers::chosen || family.windows == WindowedLayers::not_rotated) {
    json.emplace_back("use_sliding_window", config.window > 0);
  }
  if (family.windows > WindowedLayers::all) json.emplace_back("layer_types", layer_types(config));
  if (family.score_scalar > 0) json.emplace_back("query_pre_attn_scalar", config.score_scalar);
  if (!family.skips_rotation) return;
  io::Json::Array rotated;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    rotated.emplace_back(is_set(config.unrotated, layer) ? 0 : 1);
  }
  json.emplace_back("no_rope_layers", std::move(rotated));
}

io::Json::Object llama_json(const LlamaFamily& family, const LlamaConfig& config) {
  io::Json::Object json = {
      {"architectures", io::Json::Array{family.architecture}},
      {"model_type", family.type},
      {"vocab_size", config.vocab_size},
      {"hidden_size", config.hidden_size},
      {"intermediate_size", config.intermediate_size},
      {"num_hidden_layers", config.num_hidden_layers},
      {"num_attention_heads", config.num_attention_heads},
      {"num_key_value_heads", config.num_key_value_heads},
      {"head_dim", config.head_dim},
      {"max_position_embeddings", config.max_position_embeddings},
      {std::string(family.activation_key), kernels::name_of(config.activation)},
      {"rms_norm_eps", short_number(config.rms_norm_eps)},
      {"attention_dropout", short_number(config.attention_dropout)}};
  if (family.window_rope_theta > 0) {
    write_rotary_of_windows(json, config.rotary, config.window_rotary, {});
  } else {
    write_rotary(json, config.rotary);
  }
  write_switches(json, family, config);
  return json;
}

LlamaConfig with_defaults(LlamaConfig config) {
  if (config.num_key_value_heads == 0) config.num_key_value_heads = config.num_attention_heads;
  if (config.head_dim == 0) config.head_dim = config.hidden_size / config.num_attention_heads;
  for (kernels::RotaryRates* rates : {&config.rotary, &config.window_rotary}) {
    if (rates->width == 0) rates->width = config.head_dim;
  }
  return config;
}

}  // namespace

DecoderDesign design_of(const LlamaFamily& family, const LlamaConfig& given) {
  const LlamaConfig config = with_defaults(given);
  const float root = std::sqrt(static_cast<float>(config.hidden_size));
  DecoderDesign design{.type = family.type,
                       .config = llama_json(family, config),
                       .vocab_size = config.vocab_size,
                       .table = config.prefix + "embed_tokens",
                       .embedding = {.max_length = config.max_position_embeddings,
                                     .adds_positions = false,
                                     .scale = family.gemma ? root : 1,
                                     .place = "decoder"},
                       .final_norm = config.prefix + "norm",
                       .final_norm_options = {.width = config.hidden_size,
                                              .kind = nn::NormKind::rms_norm,
                                              .epsilon = config.rms_norm_eps,
                                              .weight_offset = family.gemma ? 1.0F : 0.0F,
                                              .place = "decoder.norm"},
                       .tied_head = config.tied_head,
                       .special_ids = config.special_ids,
                       .ignored = is_rotary_buffer};
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    design.layers.push_back(llama_layer(family, config, layer));
  }
  set_heads_left(design.layers, config.heads_left, family.type);
  return design;
}

}  // namespace headlight::models
