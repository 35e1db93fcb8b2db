// The configuration of a headlight-seq2seq folder, both ways, and its row in the registry.
#include <algorithm>
#include <array>

#include "headlight/models/config_reader.h"
#include "headlight/models/parameters.h"
#include "headlight/models/seq2seq.h"

namespace headlight::models {
namespace {

constexpr std::array<std::string_view, 2> kPositions = {"sinusoidal", "learned"};
constexpr std::array<std::string_view, 2> kOrders = {"interleaved", "halves"};
constexpr std::array<std::string_view, 2> kDivisors = {"half", "half_minus_one"};
constexpr int64_t kMostPositionStart = 1'000'000;
constexpr const char* kEvenWidth = "sinusoidal positions need an even width";

// Whether the key names the second of the two choices; the first is the default.
bool is_second(const ConfigReader& reader, const char* key,
               const std::array<std::string_view, 2>& choices) {
  return reader.choice(key, choices, choices[0]) == choices[1];
}

void read_switches(const ConfigReader& reader, Seq2SeqConfig& config) {
  config.activation = reader.activation("activation_function", config.activation);
  config.normalize_before = reader.boolean("normalize_before", config.normalize_before);
  config.final_layer_norm = reader.boolean("final_layer_norm", config.final_layer_norm);
  config.scale_embedding = reader.boolean("scale_embedding", config.scale_embedding);
  config.tied_head = reader.boolean("tie_word_embeddings", config.tied_head);
  config.layer_norm_eps = reader.fraction("layer_norm_eps", false, config.layer_norm_eps);
  config.learned_positions = is_second(reader, "positions", kPositions);
  config.position_halves = is_second(reader, "position_order", kOrders);
  config.position_half_minus_one = is_second(reader, "position_divisor", kDivisors);
  config.position_start = reader.integer("position_start", 0, kMostPositionStart, 0);
  config.dropout = reader.fraction("dropout", true, 0);
  config.attention_dropout = reader.fraction("attention_dropout", true, 0);
  config.activation_dropout = reader.fraction("activation_dropout", true, 0);
}

void check_heads(const ConfigReader& reader, const Seq2SeqConfig& config, std::string_view key,
                 int64_t heads) {
  if (config.head_dim == 0) {
    reader.check_heads(key, heads, config.d_model);
  } else if (heads * config.head_dim > kMostWidth) {
    reader.refuse("head_dim", "is " + std::to_string(config.head_dim) + ", " +
                                  std::to_string(heads) + " heads of that width are more than " +
                                  std::to_string(kMostWidth));
  }
}

ModelPlan plan_of(const Seq2SeqConfig& config);

// A table that both sides share beside others of their own leaves open which one counts.
ModelPlan untied_plan(Seq2SeqConfig config, const std::string& copy) {
  if (copy != "lm_head.weight") return {};
  config.tied_head = false;
  return plan_of(config);
}

// Of self-attention and feed-forward layers.
int64_t activations_of(const Seq2SeqConfig& config) {
  int64_t kept = 0;
  for (const AttentionHeads& one : attention_heads(config)) {
    if (!one.place.ends_with(".self")) continue;
    const int64_t hidden =
        one.place.starts_with("encoder.") ? config.encoder_ffn_dim : config.decoder_ffn_dim;
    const int64_t left = count_left(config.heads_left, one.place, one.heads);
    kept += kept_of_layer(config.d_model, config.d_model * left / one.heads, hidden);
  }
  return kept;
}

ModelPlan plan_of(const Seq2SeqConfig& config) {
  return {
      .parameters = parameter_count(config),
      .tables = config.learned_positions ? 0 : 2 * config.max_position_embeddings * config.d_model,
      .activations = activations_of(config),
      .make = [config] { return std::make_unique<Seq2Seq>(config); },
      .untied = [config](const std::string& copy) { return untied_plan(config, copy); }};
}

ModelPlan read_seq2seq(const io::Json& json, const std::string& path,
                       const io::StoredTensors& tensors) {
  Seq2SeqConfig config = Seq2Seq::read_config(json, path);
  config.shared_embeddings = tensors.find("shared.weight") != nullptr;
  config.head_bias = tensors.find("lm_head.bias") != nullptr;
  return plan_of(config);
}

ModelPlan fresh_seq2seq(const ModelRequest& request) {
  if (!*request.learned_positions && request.n_embd % 2 != 0) {
    base::refuse(Seq2Seq::kType, "n_embd",
                 "is " + std::to_string(request.n_embd) + ", " + kEvenWidth);
  }
  const auto layers = [&request](int64_t own) { return own > 0 ? own : request.n_layer; };
  const int64_t hidden = plain_hidden(request);
  return plan_of(Seq2SeqConfig{.vocab_size = request.vocab_size,
                               .decoder_vocab_size = request.vocab_size,
                               .d_model = request.n_embd,
                               .encoder_layers = layers(request.n_encoder_layer),
                               .decoder_layers = layers(request.n_decoder_layer),
                               .encoder_attention_heads = request.n_head,
                               .decoder_attention_heads = request.n_head,
                               .encoder_ffn_dim = hidden,
                               .decoder_ffn_dim = hidden,
                               .max_position_embeddings = request.block_size,
                               .activation = *request.activation,
                               .normalize_before = *request.pre_norm,
                               .final_layer_norm = *request.pre_norm,
                               .tied_head = *request.tie_embeddings,
                               .learned_positions = *request.learned_positions,
                               .dropout = request.dropout,
                               .special_ids = request.special_ids});
}

}  // namespace

Seq2SeqConfig Seq2Seq::read_config(const io::Json& json, const std::string& path) {
  const ConfigReader reader(json, path);
  Seq2SeqConfig config;
  config.vocab_size = reader.size("vocab_size", kMostIds);
  config.decoder_vocab_size = reader.size("decoder_vocab_size", kMostIds, config.vocab_size);
  config.shared_embeddings = config.decoder_vocab_size == config.vocab_size;
  config.d_model = reader.size("d_model", kMostWidth);
  config.encoder_layers = reader.size("encoder_layers", kMostLayers);
  config.decoder_layers = reader.size("decoder_layers", kMostLayers);
  config.encoder_attention_heads = reader.size("encoder_attention_heads", kMostWidth);
  config.decoder_attention_heads = reader.size("decoder_attention_heads", kMostWidth);
  config.head_dim = reader.integer("head_dim", 0, kMostWidth, 0);
  config.encoder_ffn_dim = reader.size("encoder_ffn_dim", 4 * kMostWidth);
  config.decoder_ffn_dim = reader.size("decoder_ffn_dim", 4 * kMostWidth);
  config.max_position_embeddings = reader.size("max_position_embeddings", kMostIds);
  read_switches(reader, config);
  reader.require_same("d_model", "hidden_size");
  reader.require_same("encoder_layers", "num_hidden_layers");
  reader.require_same("encoder_attention_heads", "num_attention_heads");
  refuse_quantized(reader);
  config.special_ids = reader.special_ids(std::max(config.vocab_size, config.decoder_vocab_size),
                                          OutsideIds::refused);
  check_heads(reader, config, "encoder_attention_heads", config.encoder_attention_heads);
  check_heads(reader, config, "decoder_attention_heads", config.decoder_attention_heads);
  config.heads_left = read_heads_left(json, path, attention_heads(config));
  if (!config.learned_positions && config.d_model % 2 != 0) {
    reader.refuse("d_model", "is " + std::to_string(config.d_model) + ", " + kEvenWidth);
  }
  if (config.position_half_minus_one && config.d_model < 4) {
    reader.refuse("position_divisor", "half_minus_one divides by d_model / 2 - 1, which is " +
                                          std::to_string(config.d_model / 2 - 1));
  }
  refuse_unread_settings(reader, kType);
  return config;
}

io::Json Seq2Seq::config() const {
  const auto choice = [](const std::array<std::string_view, 2>& choices, bool second) {
    return choices[second ? 1 : 0];
  };
  io::Json::Object config = {
      {"model_type", kType},
      {"d_model", config_.d_model},
      {"encoder_layers", config_.encoder_layers},
      {"decoder_layers", config_.decoder_layers},
      {"encoder_attention_heads", config_.encoder_attention_heads},
      {"decoder_attention_heads", config_.decoder_attention_heads},
      {"encoder_ffn_dim", config_.encoder_ffn_dim},
      {"decoder_ffn_dim", config_.decoder_ffn_dim},
      {"vocab_size", config_.vocab_size},
      {"max_position_embeddings", config_.max_position_embeddings},
      {"activation_function", kernels::name_of(config_.activation)},
      {"normalize_before", config_.normalize_before},
      {"final_layer_norm", config_.final_layer_norm},
      {"scale_embedding", config_.scale_embedding},
      {"tie_word_embeddings", config_.tied_head},
      {"layer_norm_eps", short_number(config_.layer_norm_eps)},
      {"positions", choice(kPositions, config_.learned_positions)},
      {"position_order", choice(kOrders, config_.position_halves)},
      {"position_start", config_.position_start},
      {"position_divisor", choice(kDivisors, config_.position_half_minus_one)},
      {"dropout", short_number(config_.dropout)},
      {"attention_dropout", short_number(config_.attention_dropout)},
      {"activation_dropout", short_number(config_.activation_dropout)}};
  if (config_.decoder_vocab_size != config_.vocab_size) {
    config.emplace_back("decoder_vocab_size", config_.decoder_vocab_size);
  }
  if (config_.head_dim != 0) config.emplace_back("head_dim", config_.head_dim);
  write_heads_left(config, config_.heads_left, attention_heads(config_));
  write_special_ids(config, config_.special_ids);
  return config;
}

Architecture seq2seq_architecture() {
  return {.model_type = Seq2Seq::kType,
          .capabilities = Seq2Seq::kCapabilities,
          .read = read_seq2seq,
          .fresh = fresh_seq2seq,
          .choices = {.bias = always(true),
                      .tie_embeddings = by_default(true),
                      .pre_norm = by_default(true),
                      .learned_positions = by_default(false),
                      .activation = by_default(nn::Activation::relu),
                      .two_stacks = true}};
}

}  // namespace headlight::models
