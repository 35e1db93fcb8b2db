// Opt: names and shapes, its configuration both ways, and its row in the registry.
#include "headlight/models/opt.h"

#include "headlight/models/config_reader.h"

namespace headlight::models {
namespace {

constexpr std::string_view kOptType = "opt";
constexpr int64_t kFirstPosition = 2;

nn::TransformerBlockOptions opt_layer(const OptConfig& config, int64_t layer) {
  const std::string name = config.prefix + "layers." + std::to_string(layer) + ".";
  return {
      .width = config.hidden_size,
      .heads = config.num_attention_heads,
      .hidden = config.ffn_dim,
      .activation = config.activation,
      .norm_place = config.norm_before ? nn::NormPlace::pre : nn::NormPlace::post,
      .causal = true,
      .qkv_bias = config.bias,
      .out_bias = config.bias,
      .feed_forward_bias = config.bias,
      .dropout = config.dropout,
      .attention_dropout = config.attention_dropout,
      .names = {.self = nn::AttentionNames{.weights = {"q_proj.weight", "k_proj.weight",
                                                       "v_proj.weight"},
                                           .biases = {"q_proj.bias", "k_proj.bias", "v_proj.bias"},
                                           .output_weight = "out_proj.weight",
                                           .output_bias = "out_proj.bias"}
                            .with_prefix(name + "self_attn."),
                .self_norm = name + "self_attn_layer_norm",
                .feed_forward_norm = name + "final_layer_norm",
                .first = name + "fc1",
                .second = name + "fc2"},
      .place = "decoder." + std::to_string(layer)};
}

int64_t table_width(const OptConfig& config) {
  return config.word_embed_proj_dim > 0 ? config.word_embed_proj_dim : config.hidden_size;
}

io::Json::Object opt_json(const OptConfig& config) {
  return {{"architectures", io::Json::Array{"OPTForCausalLM"}},
          {"model_type", kOptType},
          {"vocab_size", config.vocab_size},
          {"hidden_size", config.hidden_size},
          {"word_embed_proj_dim", table_width(config)},
          {"num_hidden_layers", config.num_hidden_layers},
          {"num_attention_heads", config.num_attention_heads},
          {"ffn_dim", config.ffn_dim},
          {"max_position_embeddings", config.max_position_embeddings},
          {"do_layer_norm_before", config.norm_before},
          {"_remove_final_layer_norm", config.removes_final_norm},
          {"layer_norm_elementwise_affine", true},
          {"activation_function", kernels::name_of(config.activation)},
          {"enable_bias", config.bias},
          {"dropout", short_number(config.dropout)},
          {"attention_dropout", short_number(config.attention_dropout)}};
}

OptConfig read_opt_config(const io::Json& json, const std::string& path) {
  const ConfigReader reader(json, path);
  OptConfig config;
  config.vocab_size = reader.size("vocab_size", kMostIds);
  config.hidden_size = reader.size("hidden_size", kMostWidth);
  config.num_hidden_layers = reader.size("num_hidden_layers", kMostLayers);
  config.num_attention_heads = reader.size("num_attention_heads", kMostWidth);
  reader.check_heads("num_attention_heads", config.num_attention_heads, config.hidden_size);
  config.ffn_dim = reader.size("ffn_dim", 4 * kMostWidth);
  config.max_position_embeddings = reader.size("max_position_embeddings", kMostIds);
  config.norm_before = reader.boolean("do_layer_norm_before", true);
  config.removes_final_norm = reader.boolean("_remove_final_layer_norm", false);
  config.activation = reader.activation("activation_function", config.activation);
  config.bias = reader.boolean("enable_bias", true);
  config.tied_head = reader.boolean("tie_word_embeddings", true);
  config.dropout = reader.fraction("dropout", true, 0);
  config.attention_dropout = reader.fraction("attention_dropout", true, 0);
  config.special_ids = reader.special_ids(config.vocab_size, OutsideIds::none);
  reader.require("layer_norm_elementwise_affine", true);
  config.word_embed_proj_dim = reader.size("word_embed_proj_dim", kMostWidth, config.hidden_size);
  refuse_foreign_settings(reader);
  refuse_unread_settings(reader, kOptType);
  return config;
}

// Folders without a head have less before the names, and so do early ones with it.
ModelPlan read_opt(const io::Json& json, const std::string& path,
                   const io::StoredTensors& tensors) {
  OptConfig config = read_opt_config(json, path);
  if (!any_starts_with(tensors, config.prefix)) config.prefix = "decoder.";
  DecoderDesign design = design_of(config);
  design.classifier = last_row_classifier(json, path, config.special_ids);
  set_heads_left(design.layers, read_heads_left(json, path, heads_of_layers(design.layers)),
                 kOptType);
  return plan_of(design);
}

ModelPlan fresh_opt(const ModelRequest& request) {
  return plan_of(design_of({.vocab_size = request.vocab_size,
                            .hidden_size = request.n_embd,
                            .num_hidden_layers = request.n_layer,
                            .num_attention_heads = request.n_head,
                            .ffn_dim = plain_hidden(request),
                            .max_position_embeddings = request.block_size,
                            .norm_before = *request.pre_norm,
                            .activation = *request.activation,
                            .bias = *request.bias,
                            .tied_head = *request.tie_embeddings,
                            .dropout = request.dropout,
                            .attention_dropout = request.dropout,
                            .special_ids = request.special_ids}));
}

}  // namespace

// A number of the version that earlier ones stored.
bool is_opt_buffer(const std::string& name, const nn::StoredTensor& /*tensor*/) {
  return name.ends_with("decoder.version");
}

DecoderDesign design_of(const OptConfig& config) {
  DecoderDesign design{.type = kOptType,
                       .config = opt_json(config),
                       .vocab_size = config.vocab_size,
                       .table = config.prefix + "embed_tokens",
                       .embedding = {.max_length = config.max_position_embeddings,
                                     .learned_positions = config.prefix + "embed_positions",
                                     .position_start = kFirstPosition,
                                     .place = "decoder"},
                       .tied_head = config.tied_head,
                       .special_ids = config.special_ids,
                       .ignored = is_opt_buffer};
  if (table_width(config) != config.hidden_size) {
    design.table_width = table_width(config);
    design.embedding.projection = config.prefix + "project_in";
    design.embedding.width = config.hidden_size;
    design.output_projection = config.prefix + "project_out";
  }
  if (config.norm_before && !config.removes_final_norm) {
    design.final_norm = config.prefix + "final_layer_norm";
    design.final_norm_options = {.width = config.hidden_size, .place = "decoder.norm"};
  }
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    design.layers.push_back(opt_layer(config, layer));
  }
  set_heads_left(design.layers, config.heads_left, kOptType);
  return design;
}

Architecture opt_architecture() {
  return {.model_type = kOptType,
          .capabilities = DecoderModel::kCapabilities,
          .read = read_opt,
          .fresh = fresh_opt,
          .choices = {.bias = by_default(true),
                      .tie_embeddings = by_default(true),
                      .pre_norm = by_default(true),
                      .learned_positions = always(true),
                      .activation = by_default(nn::Activation::relu)}};
}

}  // namespace headlight::models
