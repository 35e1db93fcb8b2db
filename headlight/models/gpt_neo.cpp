// GptNeo: names and shapes, its configuration both ways, and its row in the registry.
#include "headlight/models/gpt_neo.h"

#include "headlight/models/config_reader.h"

namespace headlight::models {
namespace {

constexpr std::string_view kNeoType = "gpt_neo";

nn::TransformerBlockOptions neo_layer(const GptNeoConfig& config, int64_t layer) {
  const std::string name = config.prefix + "h." + std::to_string(layer) + ".";
  return {.width = config.hidden_size,
          .heads = config.num_heads,
          .hidden = config.intermediate_size,
          .activation = config.activation,
          .norm_place = nn::NormPlace::pre,
          .scale = 1.0F,
          .window = config.local[static_cast<size_t>(layer)] ? config.window_size : 0,
          .causal = true,
          .qkv_bias = false,
          .epsilon = config.layer_norm_epsilon,
          .dropout = config.dropout,
          .attention_dropout = config.attention_dropout,
          .names = {.self = nn::AttentionNames{.weights = {"q_proj.weight", "k_proj.weight",
                                                           "v_proj.weight"},
                                               .biases = {},
                                               .output_weight = "out_proj.weight",
                                               .output_bias = "out_proj.bias"}
                                .with_prefix(name + "attn.attention."),
                    .self_norm = name + "ln_1",
                    .feed_forward_norm = name + "ln_2",
                    .first = name + "mlp.c_fc",
                    .second = name + "mlp.c_proj"},
          .place = "decoder." + std::to_string(layer)};
}

// Kinds of layers with how often they are repeated: each layer by itself.
io::Json::Array attention_types(const GptNeoConfig& config) {
  io::Json::Array kinds;
  for (const bool local : config.local) kinds.emplace_back(local ? "local" : "global");
  io::Json::Array all;
  all.emplace_back(io::Json::Array{std::move(kinds), 1});
  return all;
}

io::Json::Object neo_json(const GptNeoConfig& config) {
  return {{"architectures", io::Json::Array{"GPTNeoForCausalLM"}},
          {"model_type", kNeoType},
          {"vocab_size", config.vocab_size},
          {"hidden_size", config.hidden_size},
          {"num_layers", config.num_layers},
          {"num_heads", config.num_heads},
          {"intermediate_size", config.intermediate_size},
          {"max_position_embeddings", config.max_position_embeddings},
          {"window_size", config.window_size},
          {"attention_types", attention_types(config)},
          {"activation_function", kernels::name_of(config.activation)},
          {"layer_norm_epsilon", short_number(config.layer_norm_epsilon)},
          {"resid_dropout", short_number(config.dropout)},
          {"embed_dropout", short_number(config.embedding_dropout)},
          {"attention_dropout", short_number(config.attention_dropout)}};
}

bool is_neo_buffer(const std::string& name, const nn::StoredTensor& tensor) {
  return nn::is_mask_buffer(name, tensor);
}

constexpr const char* kTypesKey = "attention_types";
constexpr const char* kLayersKey = "attention_layers";

bool is_local(const ConfigReader& reader, const char* key, const io::Json& kind) {
  if (kind == io::Json("local")) return true;
  if (kind != io::Json("global")) reader.refuse(key, "layers are \"global\" or \"local\"");
  return false;
}

// [[["global", "local"], 12]]: lists of kinds, each with how often it comes; at most `most` layers.
std::vector<bool> repeated_kinds(const ConfigReader& reader, const io::Json& types, int64_t most) {
  const auto refuse_types = [&reader] {
    reader.refuse(kTypesKey,
                  "lists of kinds with how often they come are needed for all layers, "
                  "e.g. [[[\"global\", \"local\"], 12]]");
  };
  std::vector<bool> local;
  if (types.array() == nullptr) refuse_types();
  for (const io::Json& item : *types.array()) {
    const io::Json::Array* pair = item.array();
    if (pair == nullptr || pair->size() != 2 || pair->front().array() == nullptr) refuse_types();
    const auto times = pair->back().integer();
    if (!times || *times < 0 || *times > most) refuse_types();
    for (int64_t i = 0; i < *times; ++i) {
      for (const io::Json& kind : *pair->front().array()) {
        if (std::ssize(local) == most) refuse_types();
        local.push_back(is_local(reader, kTypesKey, kind));
      }
    }
  }
  if (std::ssize(local) != most) refuse_types();
  return local;
}

// Two spellings, of which the longer one is made from the shorter one.
std::vector<bool> read_local(const ConfigReader& reader, int64_t layers) {
  const io::Json* types = reader.find(kTypesKey);
  const io::Json* list = reader.find(kLayersKey);
  std::vector<bool> listed;
  if (list != nullptr) {
    if (list->array() == nullptr || std::ssize(*list->array()) != layers) {
      reader.refuse(kLayersKey, "a list of " + std::to_string(layers) + " is needed");
    }
    for (const io::Json& kind : *list->array()) {
      listed.push_back(is_local(reader, kLayersKey, kind));
    }
  }
  if (types == nullptr && list != nullptr) return listed;
  if (types == nullptr) return {};
  const std::vector<bool> local = repeated_kinds(reader, *types, layers);
  if (list != nullptr && listed != local) {
    reader.refuse(kLayersKey, "says something else than attention_types; leave one of them out");
  }
  return local;
}

GptNeoConfig read_neo_config(const io::Json& json, const std::string& path) {
  const ConfigReader reader(json, path);
  GptNeoConfig config;
  config.vocab_size = reader.size("vocab_size", kMostIds);
  config.hidden_size = reader.size("hidden_size", kMostWidth);
  const std::string_view heads = reader.spelling("num_heads", "num_attention_heads");
  config.num_layers = reader.size(reader.spelling("num_layers", "num_hidden_layers"), kMostLayers);
  config.num_heads = reader.size(heads, kMostWidth);
  reader.check_heads(heads, config.num_heads, config.hidden_size);
  config.intermediate_size =
      reader.size("intermediate_size", 4 * kMostWidth, 4 * config.hidden_size);
  config.max_position_embeddings = reader.size("max_position_embeddings", kMostIds);
  config.window_size = reader.size("window_size", kMostIds, config.window_size);
  config.local = read_local(reader, config.num_layers);
  config.activation = reader.activation("activation_function", config.activation);
  config.layer_norm_epsilon =
      reader.fraction("layer_norm_epsilon", false, config.layer_norm_epsilon);
  config.tied_head = reader.boolean("tie_word_embeddings", true);
  config.dropout = reader.fraction("resid_dropout", true, 0);
  config.embedding_dropout = reader.fraction("embed_dropout", true, 0);
  config.attention_dropout = reader.fraction("attention_dropout", true, 0);
  config.special_ids = reader.special_ids(config.vocab_size, OutsideIds::none);
  refuse_foreign_settings(reader);
  refuse_unread_settings(reader, kNeoType);
  return config;
}

ModelPlan read_neo(const io::Json& json, const std::string& path,
                   const io::StoredTensors& tensors) {
  GptNeoConfig config = read_neo_config(json, path);
  if (!any_starts_with(tensors, config.prefix)) config.prefix.clear();
  DecoderDesign design = design_of(config);
  design.classifier = last_row_classifier(json, path, config.special_ids);
  set_heads_left(design.layers, read_heads_left(json, path, heads_of_layers(design.layers)),
                 kNeoType);
  return plan_of(design);
}

ModelPlan fresh_neo(const ModelRequest& request) {
  GptNeoConfig config{.vocab_size = request.vocab_size,
                      .hidden_size = request.n_embd,
                      .num_layers = request.n_layer,
                      .num_heads = request.n_head,
                      .intermediate_size = request.d_ff,
                      .max_position_embeddings = request.block_size,
                      .activation = *request.activation,
                      .tied_head = *request.tie_embeddings,
                      .dropout = request.dropout,
                      .embedding_dropout = request.dropout,
                      .attention_dropout = request.dropout,
                      .special_ids = request.special_ids};
  if (request.sliding_window > 0) config.window_size = request.sliding_window;
  return plan_of(design_of(config));
}

GptNeoConfig completed(GptNeoConfig config) {
  if (config.intermediate_size == 0) config.intermediate_size = 4 * config.hidden_size;
  for (int64_t layer = std::ssize(config.local); layer < config.num_layers; ++layer) {
    config.local.push_back(layer % 2 == 1);
  }
  return config;
}

}  // namespace

DecoderDesign design_of(const GptNeoConfig& given) {
  const GptNeoConfig config = completed(given);
  DecoderDesign design{.type = kNeoType,
                       .config = neo_json(config),
                       .vocab_size = config.vocab_size,
                       .table = config.prefix + "wte",
                       .embedding = {.max_length = config.max_position_embeddings,
                                     .learned_positions = config.prefix + "wpe",
                                     .dropout = config.embedding_dropout,
                                     .place = "decoder"},
                       .final_norm = config.prefix + "ln_f",
                       .final_norm_options = {.width = config.hidden_size,
                                              .epsilon = config.layer_norm_epsilon,
                                              .place = "decoder.norm"},
                       .tied_head = config.tied_head,
                       .special_ids = config.special_ids,
                       .ignored = is_neo_buffer};
  for (int64_t layer = 0; layer < config.num_layers; ++layer) {
    design.layers.push_back(neo_layer(config, layer));
  }
  set_heads_left(design.layers, config.heads_left, kNeoType);
  return design;
}

Architecture gpt_neo_architecture() {
  return {.model_type = kNeoType,
          .capabilities = DecoderModel::kCapabilities,
          .read = read_neo,
          .fresh = fresh_neo,
          .choices = {.tie_embeddings = by_default(true),
                      .pre_norm = always(true),
                      .learned_positions = always(true),
                      .activation = by_default(nn::Activation::gelu_tanh),
                      .sliding_window = true}};
}

}  // namespace headlight::models
