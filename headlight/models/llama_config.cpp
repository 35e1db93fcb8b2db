// The configurations of llama, mistral, qwen2, qwen3, smollm3 and gemma3_text folders, and their
// rows in the registry.
#include <algorithm>
#include <array>

#include "headlight/models/config_reader.h"
#include "headlight/models/llama.h"
#include "headlight/models/rotary_config.h"

namespace headlight::models {
namespace {

constexpr std::array<std::string_view, 2> kLayerTypes = {"full_attention", "sliding_attention"};

void read_sizes(const ConfigReader& reader, const LlamaFamily& family, LlamaConfig& config) {
  config.vocab_size = reader.size("vocab_size", kMostIds);
  config.hidden_size = reader.size("hidden_size", kMostWidth);
  config.intermediate_size = reader.size("intermediate_size", 4 * kMostWidth);
  config.num_hidden_layers = reader.size("num_hidden_layers", kMostLayers);
  config.num_attention_heads = reader.size("num_attention_heads", kMostWidth);
  config.max_position_embeddings =
      family.positions > 0 ? reader.size("max_position_embeddings", kMostIds, family.positions)
                           : reader.size("max_position_embeddings", kMostIds);
  // Left out they are the family's, null is as many as heads.
  const bool named = reader.has("num_key_value_heads");
  const int64_t otherwise =
      named || family.kv_heads == 0 ? config.num_attention_heads : family.kv_heads;
  config.num_key_value_heads = reader.size("num_key_value_heads", kMostWidth, otherwise);
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    reader.refuse("num_key_value_heads",
                  std::to_string(config.num_attention_heads) + " heads cannot share " +
                      std::to_string(config.num_key_value_heads) + " key/value heads evenly");
  }
}

void read_head_width(const ConfigReader& reader, const LlamaFamily& family, LlamaConfig& config) {
  if (family.head_dim == 0 && reader.find("head_dim") == nullptr) {
    reader.check_heads("num_attention_heads", config.num_attention_heads, config.hidden_size);
  }
  config.head_dim = reader.size(
      "head_dim", kMostWidth,
      family.head_dim > 0 ? family.head_dim : config.hidden_size / config.num_attention_heads);
  if (config.head_dim % 2 != 0) {
    reader.refuse("head_dim",
                  "is " + std::to_string(config.head_dim) + ", rotation needs an even width");
  }
  if (config.num_attention_heads * config.head_dim > kMostWidth) {
    reader.refuse("head_dim", "is " + std::to_string(config.head_dim) + ", " +
                                  std::to_string(config.num_attention_heads) +
                                  " heads of that width are more than " +
                                  std::to_string(kMostWidth));
  }
}

// 1 stands for rotation, 0 for none.
void read_unrotated(const ConfigReader& reader, LlamaConfig& config) {
  constexpr int64_t kUsualInterval = 4;
  const int64_t interval = reader.size("no_rope_layer_interval", kMostLayers, kUsualInterval);
  config.unrotated.assign(static_cast<size_t>(config.num_hidden_layers), false);
  const io::Json* list = reader.find("no_rope_layers");
  if (list == nullptr) {
    for (int64_t layer = interval; layer <= config.num_hidden_layers; layer += interval) {
      config.unrotated[static_cast<size_t>(layer - 1)] = true;
    }
    return;
  }
  if (list->array() == nullptr || list->array()->size() < config.unrotated.size()) {
    reader.refuse("no_rope_layers", "a list of 0 and 1 is needed, one for each layer");
  }
  for (size_t layer = 0; layer < config.unrotated.size(); ++layer) {
    const auto rotates = (*list->array())[layer].integer();
    if (!rotates || *rotates < 0 || *rotates > 1) {
      reader.refuse("no_rope_layers", "a list of 0 and 1 is needed, one for each layer");
    }
    config.unrotated[layer] = *rotates == 0;
  }
}

// Layers that have a window, where the configuration does not list them.
bool is_windowed(const ConfigReader& reader, const LlamaFamily& family, const LlamaConfig& config,
                 int64_t layer) {
  constexpr int64_t kUsualFirst = 28;
  constexpr int64_t kUsualPattern = 6;
  if (family.windows == WindowedLayers::all) return true;
  if (family.windows == WindowedLayers::not_rotated) {
    return config.unrotated[static_cast<size_t>(layer)];
  }
  if (family.windows == WindowedLayers::most) {
    return (layer + 1) % reader.size("sliding_window_pattern", kMostLayers, kUsualPattern) != 0;
  }
  return layer >= reader.integer("max_window_layers", 0, kMostIds, kUsualFirst);
}

void read_windows(const ConfigReader& reader, const LlamaFamily& family, LlamaConfig& config) {
  if (family.windows == WindowedLayers::none) return;
  const bool by_switch =
      family.windows == WindowedLayers::chosen || family.windows == WindowedLayers::not_rotated;
  const int64_t otherwise = reader.has("sliding_window") ? 0 : family.window;
  config.window = reader.size("sliding_window", kMostIds, otherwise);
  if (by_switch && !reader.boolean("use_sliding_window", false)) config.window = 0;
  const auto types = family.windows == WindowedLayers::all
                         ? std::nullopt
                         : reader.choices("layer_types", kLayerTypes, config.num_hidden_layers);
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const bool windowed = types ? (*types)[static_cast<size_t>(layer)] == kLayerTypes[1]
                                : config.window > 0 && is_windowed(reader, family, config, layer);
    if (windowed && config.window == 0) {
      reader.refuse("layer_types", "has sliding_attention, and there is no sliding_window in use");
    }
    config.windowed.push_back(windowed);
  }
}

void read_rotations(const ConfigReader& reader, const LlamaFamily& family, LlamaConfig& config) {
  const RotaryDefaults defaults{.width = config.head_dim,
                                .base = family.rope_theta,
                                .positions = config.max_position_embeddings,
                                .window_base = family.window_rope_theta};
  if (family.window_rope_theta == 0) {
    config.rotary = read_rotary(reader, defaults);
    return;
  }
  const RotaryOfWindows both = read_rotary_of_windows(reader, defaults);
  config.rotary = both.whole;
  config.window_rotary = both.windowed;
}

template <const LlamaFamily& kFamily>
ModelPlan read_llama(const io::Json& json, const std::string& path,
                     const io::StoredTensors& tensors) {
  LlamaConfig config = read_llama_config(kFamily, json, path);
  if (!any_starts_with(tensors, config.prefix)) config.prefix.clear();
  DecoderDesign design = design_of(kFamily, config);
  design.classifier = last_row_classifier(json, path, config.special_ids);
  return plan_of(design);
}

// Which layers of a fresh model see no further than a window.
void set_fresh_windows(const LlamaFamily& family, int64_t asked, LlamaConfig& config) {
  constexpr int64_t kUsualInterval = 6;
  const bool always_has_one = family.windows == WindowedLayers::most;
  config.window = asked > 0 ? asked : always_has_one ? family.window : 0;
  if (config.window == 0) return;
  for (int64_t layer = 1; layer <= config.num_hidden_layers; ++layer) {
    const bool is_windowed = always_has_one ? layer % kUsualInterval != 0
                             : family.windows == WindowedLayers::not_rotated
                                 ? config.unrotated[static_cast<size_t>(layer - 1)]
                                 : true;
    config.windowed.push_back(is_windowed);
  }
}

template <const LlamaFamily& kFamily>
ModelPlan fresh_llama(const ModelRequest& request) {
  constexpr int64_t kUsualInterval = 4;
  const int64_t head_dim = request.n_embd / request.n_head;
  if (head_dim % 2 != 0) {
    base::refuse(kFamily.type, "n_embd",
                 "heads are " + std::to_string(head_dim) + " wide, rotation needs an even width");
  }
  const bool bias = request.bias.value_or(false);
  LlamaConfig config{
      .vocab_size = request.vocab_size,
      .hidden_size = request.n_embd,
      .intermediate_size = gated_hidden(request),
      .num_hidden_layers = request.n_layer,
      .num_attention_heads = request.n_head,
      .num_key_value_heads = request.n_kv_head,
      .max_position_embeddings = request.block_size,
      .activation = *request.activation,
      .rotary = {.width = head_dim,
                 .base = request.rope_theta > 0 ? request.rope_theta : kFamily.rope_theta},
      .window_rotary = {.width = head_dim, .base = kFamily.window_rope_theta},
      .score_scalar = kFamily.score_scalar > 0 ? head_dim : 0,
      .attention_bias = kFamily.attention_bias && bias,
      .mlp_bias = kFamily.mlp_bias && bias,
      .tied_head = *request.tie_embeddings,
      .attention_dropout = request.dropout,
      .special_ids = request.special_ids};
  for (int64_t layer = 1; kFamily.skips_rotation && layer <= request.n_layer; ++layer) {
    config.unrotated.push_back(layer % kUsualInterval == 0);
  }
  set_fresh_windows(kFamily, request.sliding_window, config);
  return plan_of(design_of(kFamily, config));
}

constexpr FreshChoices fresh_choices(const LlamaFamily& family) {
  FreshChoices choices{.tie_embeddings = by_default(family.tied_head),
                       .activation = by_default(family.activation),
                       .n_kv_head = true,
                       .rope_theta = true,
                       .sliding_window = family.windows != WindowedLayers::none};
  if (family.attention_bias) {
    choices.bias = by_default(false);
  } else if (!family.always_qkv_bias) {
    choices.bias = always(false);
  }
  if (!family.gemma) choices.pre_norm = always(true);
  return choices;
}

template <const LlamaFamily& kFamily>
Architecture llama_architecture() {
  return {.model_type = kFamily.type,
          .capabilities = DecoderModel::kCapabilities,
          .read = read_llama<kFamily>,
          .fresh = fresh_llama<kFamily>,
          .choices = fresh_choices(kFamily)};
}

}  // namespace

LlamaConfig read_llama_config(const LlamaFamily& family, const io::Json& json,
                              const std::string& path) {
  const ConfigReader reader(json, path);
  LlamaConfig config;
  read_sizes(reader, family, config);
  read_head_width(reader, family, config);
  config.activation = reader.activation(family.activation_key, family.activation);
  config.rms_norm_eps = reader.fraction("rms_norm_eps", false, config.rms_norm_eps);
  read_rotations(reader, family, config);
  if (family.score_scalar > 0) {
    config.score_scalar = reader.size("query_pre_attn_scalar", kMostIds, family.score_scalar);
  }
  if (family.attention_bias) config.attention_bias = reader.boolean("attention_bias", false);
  if (family.always_qkv_bias) reader.find("attention_bias");  // there are, whatever it says
  if (family.mlp_bias) config.mlp_bias = reader.boolean("mlp_bias", false);
  if (family.skips_rotation) read_unrotated(reader, config);
  read_windows(reader, family, config);
  config.tied_head = reader.boolean("tie_word_embeddings", family.tied_head);
  config.attention_dropout = reader.fraction("attention_dropout", true, 0);
  config.special_ids = reader.special_ids(config.vocab_size, OutsideIds::none);
  std::vector<AttentionHeads> heads;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    heads.push_back({"decoder." + std::to_string(layer) + ".self", config.num_attention_heads});
  }
  config.heads_left = read_heads_left(json, path, heads);
  refuse_foreign_settings(reader);
  refuse_unread_settings(reader, family.type);
  return config;
}

std::vector<Architecture> llama_architectures() {
  return {llama_architecture<kLlama>(),   llama_architecture<kMistral>(),
          llama_architecture<kQwen2>(),   llama_architecture<kQwen3>(),
          llama_architecture<kSmolLm3>(), llama_architecture<kGemma3>()};
}

}  // namespace headlight::models
