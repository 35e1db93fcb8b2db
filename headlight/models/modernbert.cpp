// ModernBert: names and shapes, its configuration both ways, and its row in the registry.
#include "headlight/models/modernbert.h"

#include <array>
#include <cmath>

#include "headlight/models/classes_config.h"
#include "headlight/models/config_reader.h"
#include "headlight/models/rotary_config.h"

namespace headlight::models {
namespace {

constexpr std::string_view kModernType = "modernbert";
constexpr std::array<std::string_view, 2> kModernLayers = {"full_attention", "sliding_attention"};
constexpr std::array<std::string_view, 2> kClassifiedRows = {"cls", "mean"};

ModernBertConfig completed(ModernBertConfig config) {
  for (int64_t layer = std::ssize(config.windowed); layer < config.num_hidden_layers; ++layer) {
    config.windowed.push_back(layer % 3 != 0);
  }
  for (kernels::RotaryRates* rates : {&config.rotary, &config.window_rotary}) {
    if (rates->width == 0) rates->width = config.hidden_size / config.num_attention_heads;
  }
  return config;
}

nn::TransformerBlockOptions modern_layer(const ModernBertConfig& config, int64_t layer) {
  const std::string name = config.prefix + "layers." + std::to_string(layer) + ".";
  const std::string fused = name + "attn.Wqkv.";
  const bool windowed = config.windowed[static_cast<size_t>(layer)];
  return {.width = config.hidden_size,
          .heads = config.num_attention_heads,
          .hidden = config.intermediate_size,
          .activation = config.activation,
          .norm_place = nn::NormPlace::pre,
          .window = windowed ? config.local_attention / 2 + 1 : 0,
          .rotation = nn::rotary_options(windowed ? config.window_rotary : config.rotary),
          .qkv_bias = config.attention_bias,
          .out_bias = config.attention_bias,
          .feed_forward_bias = config.mlp_bias,
          .norm_bias = config.norm_bias,
          .epsilon = config.norm_eps,
          .attention_output_dropout = config.attention_dropout,
          .attention_dropout = config.attention_dropout,
          .hidden_dropout = config.mlp_dropout,
          // What the first layer reads has been normalised already.
          .names = {.self = {.weights = {fused + "weight", fused + "weight", fused + "weight"},
                             .biases = {fused + "bias", fused + "bias", fused + "bias"},
                             .output_weight = name + "attn.Wo.weight",
                             .output_bias = name + "attn.Wo.bias"},
                    .self_norm = layer == 0 ? "" : name + "attn_norm",
                    .feed_forward_norm = name + "mlp_norm",
                    .first = name + "mlp.Wi",
                    .second = name + "mlp.Wo",
                    .gate = name + "mlp.Wi"},
          .place = "encoder." + std::to_string(layer)};
}

io::Json or_null(const std::optional<int64_t>& id) { return id ? io::Json(*id) : io::Json(); }

io::Json::Object modern_json(const ModernBertConfig& config) {
  io::Json::Array layers;
  for (const bool windowed : config.windowed) layers.emplace_back(kModernLayers[windowed ? 1 : 0]);
  io::Json::Object json = {{"model_type", kModernType},
                           {"vocab_size", config.vocab_size},
                           {"hidden_size", config.hidden_size},
                           {"intermediate_size", config.intermediate_size},
                           {"num_hidden_layers", config.num_hidden_layers},
                           {"num_attention_heads", config.num_attention_heads},
                           {"max_position_embeddings", config.max_position_embeddings},
                           {"hidden_activation", kernels::name_of(config.activation)},
                           {"norm_eps", short_number(config.norm_eps)},
                           {"norm_bias", config.norm_bias},
                           {"attention_bias", config.attention_bias},
                           {"mlp_bias", config.mlp_bias},
                           {"local_attention", config.local_attention},
                           {"layer_types", std::move(layers)},
                           // Where these are missing, transformers has those of its own vocabulary.
                           {"cls_token_id", or_null(config.special_ids.begin)},
                           {"sep_token_id", or_null(config.special_ids.end)},
                           {"decoder_bias", config.decoder_bias},
                           {"classifier_bias", config.head_bias},
                           {"classifier_activation", kernels::name_of(config.head_activation)},
                           {"classifier_pooling", kClassifiedRows[config.classifies_mean ? 1 : 0]},
                           {"classifier_dropout", short_number(config.classifier_dropout)},
                           {"embedding_dropout", short_number(config.embedding_dropout)},
                           {"mlp_dropout", short_number(config.mlp_dropout)},
                           {"attention_dropout", short_number(config.attention_dropout)}};
  write_rotary_of_windows(json, config.rotary, config.window_rotary,
                          {.base_key = "global_rope_theta", .window_key = "local_rope_theta"});
  return json;
}

void read_modern_layers(const ConfigReader& reader, ModernBertConfig& config) {
  constexpr int64_t kUsualInterval = 3;
  config.local_attention = reader.size("local_attention", kMostIds, config.local_attention);
  const int64_t interval = reader.size("global_attn_every_n_layers", kMostLayers, kUsualInterval);
  const auto types = reader.choices("layer_types", kModernLayers, config.num_hidden_layers);
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    config.windowed.push_back(types ? (*types)[static_cast<size_t>(layer)] == kModernLayers[1]
                                    : layer % interval != 0);
  }
}

void read_modern_rotation(const ConfigReader& reader, ModernBertConfig& config) {
  reader.refuse_if_set("rope_scaling", "it belongs into rope_parameters of each kind of layers");
  const int64_t width = config.hidden_size / config.num_attention_heads;
  if (width % 2 != 0) {
    reader.refuse("num_attention_heads",
                  "heads are " + std::to_string(width) + " wide, rotation needs an even width");
  }
  const RotaryOfWindows both =
      read_rotary_of_windows(reader, {.width = width,
                                      .base = config.rotary.base,
                                      .positions = config.max_position_embeddings,
                                      .base_key = "global_rope_theta",
                                      .window_base = config.window_rotary.base,
                                      .window_key = "local_rope_theta"});
  config.rotary = both.whole;
  config.window_rotary = both.windowed;
}

ModernBertConfig read_modern_config(const ConfigReader& reader) {
  ModernBertConfig config;
  config.vocab_size = reader.size("vocab_size", kMostIds);
  config.hidden_size = reader.size("hidden_size", kMostWidth);
  config.intermediate_size = reader.size("intermediate_size", 4 * kMostWidth);
  config.num_hidden_layers = reader.size("num_hidden_layers", kMostLayers);
  config.num_attention_heads = reader.size("num_attention_heads", kMostWidth);
  config.max_position_embeddings = reader.size("max_position_embeddings", kMostIds);
  reader.check_heads("num_attention_heads", config.num_attention_heads, config.hidden_size);
  config.activation = reader.activation("hidden_activation", config.activation);
  config.norm_eps = reader.fraction("norm_eps", false, config.norm_eps);
  config.norm_bias = reader.boolean("norm_bias", false);
  config.attention_bias = reader.boolean("attention_bias", false);
  config.mlp_bias = reader.boolean("mlp_bias", false);
  read_modern_layers(reader, config);
  read_modern_rotation(reader, config);
  config.decoder_bias = reader.boolean("decoder_bias", true);
  config.head_bias = reader.boolean("classifier_bias", false);
  config.head_activation = reader.activation("classifier_activation", config.head_activation);
  config.classes = read_classes(reader);
  config.classifies_mean =
      reader.choice("classifier_pooling", kClassifiedRows, kClassifiedRows[0]) == "mean";
  config.classifier_dropout = reader.fraction("classifier_dropout", true, 0);
  config.tied_head = reader.boolean("tie_word_embeddings", true);
  config.embedding_dropout = reader.fraction("embedding_dropout", true, 0);
  config.mlp_dropout = reader.fraction("mlp_dropout", true, 0);
  config.attention_dropout = reader.fraction("attention_dropout", true, 0);
  config.special_ids = reader.special_ids(config.vocab_size, OutsideIds::none);
  refuse_foreign_settings(reader);
  refuse_unread_settings(reader, kModernType);
  return config;
}

ModelPlan read_modernbert(const io::Json& json, const std::string& path,
                          const io::StoredTensors& tensors) {
  const ConfigReader reader(json, path);
  ModernBertConfig config = read_modern_config(reader);
  if (!any_starts_with(tensors, config.prefix)) config.prefix.clear();
  config.masked_words = !config.classes && tensors.find("head.dense.weight") != nullptr;
  EncoderDesign design = design_of(config);
  set_heads_left(design.layers, read_heads_left(json, path, heads_of_layers(design.layers)),
                 kModernType);
  return plan_of(design);
}

ModelPlan fresh_modernbert(const ModelRequest& request) {
  const int64_t head = request.n_embd / request.n_head;
  if (head % 2 != 0) {
    base::refuse(kModernType, "n_embd",
                 "heads are " + std::to_string(head) + " wide, rotation needs an even width");
  }
  ModernBertConfig config{.vocab_size = request.vocab_size,
                          .hidden_size = request.n_embd,
                          .intermediate_size = gated_hidden(request),
                          .num_hidden_layers = request.n_layer,
                          .num_attention_heads = request.n_head,
                          .max_position_embeddings = request.block_size,
                          .activation = *request.activation,
                          .norm_bias = *request.bias,
                          .attention_bias = *request.bias,
                          .mlp_bias = *request.bias,
                          .tied_head = *request.tie_embeddings,
                          .embedding_dropout = request.dropout,
                          .mlp_dropout = request.dropout,
                          .attention_dropout = request.dropout,
                          .special_ids = request.special_ids};
  if (request.rope_theta > 0) config.rotary.base = request.rope_theta;
  if (request.sliding_window > 0) config.local_attention = request.sliding_window;
  return plan_of(design_of(config));
}

// As transformers draws it: nothing far away, and what is added to the residual stream, or leads to
// the words, starts smaller the more layers there are.
void draw_modernbert(const nn::Parameters& parameters, const EncoderDesign& design, uint64_t seed) {
  constexpr float kDeviation = 0.02F;
  nn::Parameters smaller;
  for (const nn::ParameterHandle& one : parameters) {
    const std::string& name = one->name();
    if (name.ends_with(".Wo.weight") || name == "head.dense.weight" || name == "decoder.weight") {
      smaller.push_back(one);
    }
  }
  const auto layers = static_cast<float>(design.layers.size());
  nn::draw_truncated_normal(smaller, seed, kDeviation / std::sqrt(2 * layers));
  nn::draw_truncated_normal(parameters, seed, kDeviation);
}

}  // namespace

EncoderDesign design_of(const ModernBertConfig& given) {
  const ModernBertConfig config = completed(given);
  EncoderDesign design{.type = kModernType,
                       .architecture = "ModernBertModel",
                       .masked_architecture = "ModernBertForMaskedLM",
                       .config = modern_json(config),
                       .vocab_size = config.vocab_size,
                       .embedding_width = config.hidden_size,
                       .table = config.prefix + "embeddings.tok_embeddings",
                       .embedding = {.max_length = config.max_position_embeddings,
                                     .adds_positions = false,
                                     .place = "encoder"},
                       .norm = {.bias = config.norm_bias, .epsilon = config.norm_eps},
                       .embedding_norm = config.prefix + "embeddings.norm",
                       .dropout = config.embedding_dropout,
                       .final_norm = config.prefix + "final_norm",
                       .tied_head = config.tied_head,
                       .special_ids = config.special_ids,
                       .draw = draw_modernbert};
  if (config.masked_words) {
    design.masked_words = MaskedWordsDesign{.transform = "head.dense",
                                            .transform_bias = config.head_bias,
                                            .activation = config.head_activation,
                                            .norm = "head.norm",
                                            .weight = "decoder.weight",
                                            .bias = config.decoder_bias ? "decoder.bias" : ""};
  }
  if (config.classes) {
    design.classifier =
        ClassifierDesign{.classes = *config.classes,
                         .row = config.classifies_mean ? ClassifiedRow::mean : ClassifiedRow::first,
                         .transform = "head.dense",
                         .transform_bias = config.head_bias,
                         .activation = config.head_activation,
                         .norm = "head.norm",
                         .norm_options = {.width = config.hidden_size,
                                          .bias = config.norm_bias,
                                          .epsilon = config.norm_eps,
                                          .place = "classifier.norm"},
                         .dropout = config.classifier_dropout};
  }
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    design.layers.push_back(modern_layer(config, layer));
  }
  set_heads_left(design.layers, config.heads_left, kModernType);
  return design;
}

Architecture modernbert_architecture() {
  return {.model_type = kModernType,
          .capabilities = EncoderModel::kCapabilities,
          .read = read_modernbert,
          .fresh = fresh_modernbert,
          .choices = {.bias = by_default(false),
                      .tie_embeddings = by_default(true),
                      .pre_norm = always(true),
                      .activation = by_default(nn::Activation::gelu),
                      .rope_theta = true,
                      .sliding_window = true}};
}

}  // namespace headlight::models
