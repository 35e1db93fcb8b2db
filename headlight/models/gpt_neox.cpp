// GptNeoX: names and shapes, its configuration both ways, and its row in the registry.
#include "headlight/models/gpt_neox.h"

#include "headlight/models/config_reader.h"
#include "headlight/models/rotary_config.h"

namespace headlight::models {
namespace {

constexpr std::string_view kNeoXType = "gpt_neox";

nn::TransformerBlockOptions neox_layer(const GptNeoXConfig& config, int64_t layer) {
  const std::string name = config.prefix + "layers." + std::to_string(layer) + ".";
  const std::string fused = "query_key_value.";
  const std::string weight = fused + "weight";
  const std::string bias = fused + "bias";
  return {.width = config.hidden_size,
          .heads = config.num_attention_heads,
          .hidden = config.intermediate_size,
          .activation = config.activation,
          .norm_place = nn::NormPlace::pre,
          .order = config.parallel_residual ? nn::SublayerOrder::parallel
                                            : nn::SublayerOrder::sequential,
          .causal = true,
          .rotation = nn::rotary_options(config.rotary),
          .qkv_bias = config.attention_bias,
          .out_bias = config.attention_bias,
          .epsilon = config.layer_norm_eps,
          .dropout = config.dropout,
          .attention_dropout = config.attention_dropout,
          .names = {.self = nn::AttentionNames{.weights = {weight, weight, weight},
                                               .biases = {bias, bias, bias},
                                               .output_weight = "dense.weight",
                                               .output_bias = "dense.bias",
                                               .interleaved = true}
                                .with_prefix(name + "attention."),
                    .self_norm = name + "input_layernorm",
                    .feed_forward_norm = name + "post_attention_layernorm",
                    .first = name + "mlp.dense_h_to_4h",
                    .second = name + "mlp.dense_4h_to_h"},
          .place = "decoder." + std::to_string(layer)};
}

io::Json::Object neox_json(const GptNeoXConfig& config) {
  io::Json::Object json = {{"architectures", io::Json::Array{"GPTNeoXForCausalLM"}},
                           {"model_type", kNeoXType},
                           {"vocab_size", config.vocab_size},
                           {"hidden_size", config.hidden_size},
                           {"num_hidden_layers", config.num_hidden_layers},
                           {"num_attention_heads", config.num_attention_heads},
                           {"intermediate_size", config.intermediate_size},
                           {"max_position_embeddings", config.max_position_embeddings},
                           {"hidden_act", kernels::name_of(config.activation)},
                           {"layer_norm_eps", short_number(config.layer_norm_eps)},
                           {"use_parallel_residual", config.parallel_residual},
                           {"attention_bias", config.attention_bias},
                           {"rotary_pct", config.rotary_share},
                           {"hidden_dropout", short_number(config.dropout)},
                           {"attention_dropout", short_number(config.attention_dropout)}};
  write_rotary(json, config.rotary, "rotary_emb_base");
  return json;
}

// Masks and rates that folders of earlier versions hold.
bool is_neox_buffer(const std::string& name, const nn::StoredTensor& tensor) {
  return name.ends_with("rotary_emb.inv_freq") || nn::is_mask_buffer(name, tensor);
}

void read_neox_rotation(const ConfigReader& reader, GptNeoXConfig& config) {
  // Versions of transformers have written the one beside the other.
  if (reader.has("rotary_pct")) reader.require_same("rotary_pct", "partial_rotary_factor");
  const RotaryDefaults defaults{.width = config.hidden_size / config.num_attention_heads,
                                .positions = config.max_position_embeddings,
                                .share = config.rotary_share,
                                .any_share = true,
                                .base_key = "rotary_emb_base",
                                .share_key = "rotary_pct"};
  config.rotary = read_rotary(reader, defaults);
  config.rotary_share = read_rotary_share(reader, defaults);
  if (config.rotary.width >= 2 && config.rotary.width % 2 == 0) return;
  reader.refuse("rotary_pct", "gives " + std::to_string(config.rotary.width) +
                                  " columns of a head's " + std::to_string(defaults.width) +
                                  " to rotate, an even number is needed");
}

GptNeoXConfig read_neox_config(const io::Json& json, const std::string& path) {
  const ConfigReader reader(json, path);
  GptNeoXConfig config;
  config.vocab_size = reader.size("vocab_size", kMostIds);
  config.hidden_size = reader.size("hidden_size", kMostWidth);
  config.num_hidden_layers = reader.size("num_hidden_layers", kMostLayers);
  config.num_attention_heads = reader.size("num_attention_heads", kMostWidth);
  config.intermediate_size = reader.size("intermediate_size", 4 * kMostWidth);
  config.max_position_embeddings = reader.size("max_position_embeddings", kMostIds);
  reader.check_heads("num_attention_heads", config.num_attention_heads, config.hidden_size);
  config.activation = reader.activation("hidden_act", config.activation);
  config.layer_norm_eps = reader.fraction("layer_norm_eps", false, config.layer_norm_eps);
  config.parallel_residual = reader.boolean("use_parallel_residual", true);
  config.attention_bias = reader.boolean("attention_bias", true);
  reader.require("head_dim", config.hidden_size / config.num_attention_heads);
  read_neox_rotation(reader, config);
  config.tied_head = reader.boolean("tie_word_embeddings", false);
  config.dropout = reader.fraction("hidden_dropout", true, 0);
  config.attention_dropout = reader.fraction("attention_dropout", true, 0);
  config.special_ids = reader.special_ids(config.vocab_size, OutsideIds::none);
  refuse_foreign_settings(reader);
  refuse_unread_settings(reader, kNeoXType);
  return config;
}

ModelPlan read_neox(const io::Json& json, const std::string& path,
                    const io::StoredTensors& tensors) {
  GptNeoXConfig config = read_neox_config(json, path);
  if (!any_starts_with(tensors, config.prefix)) config.prefix.clear();
  // What transformers 5 calls it in memory, and so in what torch.save writes.
  if (tensors.find(config.head + ".weight") == nullptr && tensors.find("lm_head.weight") != nullptr)
    config.head = "lm_head";
  DecoderDesign design = design_of(config);
  design.classifier = last_row_classifier(json, path, config.special_ids);
  set_heads_left(design.layers, read_heads_left(json, path, heads_of_layers(design.layers)),
                 kNeoXType);
  return plan_of(design);
}

// All columns of a head are rotated where a quarter of them is no even number.
ModelPlan fresh_neox(const ModelRequest& request) {
  GptNeoXConfig config{.vocab_size = request.vocab_size,
                       .hidden_size = request.n_embd,
                       .num_hidden_layers = request.n_layer,
                       .num_attention_heads = request.n_head,
                       .intermediate_size = plain_hidden(request),
                       .max_position_embeddings = request.block_size,
                       .activation = *request.activation,
                       .attention_bias = *request.bias,
                       .tied_head = *request.tie_embeddings,
                       .dropout = request.dropout,
                       .attention_dropout = request.dropout,
                       .special_ids = request.special_ids};
  const int64_t head = request.n_embd / request.n_head;
  if (request.rope_theta > 0) config.rotary.base = request.rope_theta;
  if (head % 8 != 0) config.rotary_share = 1;
  config.rotary.width = static_cast<int64_t>(static_cast<double>(head) * config.rotary_share);
  if (config.rotary.width % 2 != 0) {
    base::refuse(kNeoXType, "n_embd",
                 "heads are " + std::to_string(head) + " wide, rotation needs an even width");
  }
  return plan_of(design_of(config));
}

}  // namespace

DecoderDesign design_of(const GptNeoXConfig& config) {
  DecoderDesign design{.type = kNeoXType,
                       .config = neox_json(config),
                       .vocab_size = config.vocab_size,
                       .table = config.prefix + "embed_in",
                       .embedding = {.max_length = config.max_position_embeddings,
                                     .adds_positions = false,
                                     .dropout = config.dropout,
                                     .place = "decoder"},
                       .final_norm = config.prefix + "final_layer_norm",
                       .final_norm_options = {.width = config.hidden_size,
                                              .epsilon = config.layer_norm_eps,
                                              .place = "decoder.norm"},
                       .head = config.head,
                       .tied_head = config.tied_head,
                       .special_ids = config.special_ids,
                       .ignored = is_neox_buffer};
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    design.layers.push_back(neox_layer(config, layer));
  }
  set_heads_left(design.layers, config.heads_left, kNeoXType);
  return design;
}

Architecture gpt_neox_architecture() {
  return {.model_type = kNeoXType,
          .capabilities = DecoderModel::kCapabilities,
          .read = read_neox,
          .fresh = fresh_neox,
          .choices = {.bias = by_default(true),
                      .tie_embeddings = by_default(false),
                      .pre_norm = always(true),
                      .activation = by_default(nn::Activation::gelu),
                      .rope_theta = true}};
}

}  // namespace headlight::models
