// T5: names and shapes, its configuration both ways, and its row in the registry.
#include "headlight/models/t5.h"

#include <array>
#include <cmath>

#include "headlight/models/classes_config.h"
#include "headlight/models/config_reader.h"

namespace headlight::models {
namespace {

constexpr std::string_view kT5Type = "t5";

nn::AttentionNames t5_attention(const std::string& prefix) {
  return nn::AttentionNames{.weights = {"q.weight", "k.weight", "v.weight"},
                            .biases = {},
                            .output_weight = "o.weight",
                            .output_bias = {}}
      .with_prefix(prefix);
}

nn::TransformerBlockOptions t5_layer(const T5Config& config, const std::string& side,
                                     int64_t layer) {
  const bool decodes = side == "decoder";
  const std::string name = side + ".block." + std::to_string(layer) + ".layer.";
  const std::string last = name + (decodes ? "2." : "1.");
  const std::string dense = last + "DenseReluDense.";
  return {.width = config.d_model,
          .heads = config.num_heads,
          .head_dim = config.d_kv,
          .hidden = config.d_ff,
          .activation = config.activation,
          .norm_place = nn::NormPlace::pre,
          .norm_kind = nn::NormKind::rms_norm,
          .scale = 1.0F,
          .causal = decodes,
          .cross_attention = decodes,
          .position_bias = {.buckets = config.buckets,
                            .bidirectional = !decodes,
                            .max_distance = config.max_distance},
          .qkv_bias = false,
          .out_bias = false,
          .feed_forward_bias = false,
          .epsilon = config.layer_norm_epsilon,
          .dropout = config.dropout,
          .attention_dropout = config.dropout,
          .hidden_dropout = config.dropout,
          .names = {.self = t5_attention(name + "0.SelfAttention."),
                    .cross = t5_attention(name + "1.EncDecAttention."),
                    .self_norm = name + "0.layer_norm",
                    .cross_norm = name + "1.layer_norm",
                    .feed_forward_norm = last + "layer_norm",
                    .first = dense + (config.gated ? "wi_1" : "wi"),
                    .second = dense + "wo",
                    .gate = config.gated ? dense + "wi_0" : ""},
          .place = side + "." + std::to_string(layer)};
}

StackDesign t5_stack(const T5Config& config, const std::string& side, int64_t layers) {
  StackDesign stack{
      .table = side + ".embed_tokens",
      .embedding = {.max_length = config.n_positions,
                    .adds_positions = false,
                    .dropout = config.dropout,
                    .place = side},
      .final_norm = side + ".final_layer_norm",
      .final_norm_options = {.width = config.d_model,
                             .kind = nn::NormKind::rms_norm,
                             .epsilon = config.layer_norm_epsilon,
                             .place = side + ".norm"},
      .output_dropout = config.dropout,
      .position_bias = side + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"};
  for (int64_t layer = 0; layer < layers; ++layer) {
    stack.layers.push_back(t5_layer(config, side, layer));
  }
  return stack;
}

// "gated-gelu" has always meant the tanh form.
struct T5Projection {
  std::string_view name;
  nn::Activation activation;
  bool gated;
};
constexpr std::array<T5Projection, 7> kProjections = {
    {{"relu", nn::Activation::relu, false},
     {"gated-gelu", nn::Activation::gelu_tanh, true},
     {"gelu", nn::Activation::gelu, false},
     {"gelu_new", nn::Activation::gelu_tanh, false},
     {"silu", nn::Activation::silu, false},
     {"gated-relu", nn::Activation::relu, true},
     {"gated-silu", nn::Activation::silu, true}}};

std::string_view projection_name(const T5Config& config) {
  for (const T5Projection& one : kProjections) {
    if (one.activation == config.activation && one.gated == config.gated) return one.name;
  }
  base::refuse(kT5Type, "feed_forward_proj", "there is no name for a gate with exact gelu");
}

// Where the head has a table of its own, transformers takes the output for one that is not scaled.
io::Json::Object t5_json(const T5Config& config) {
  return {{"architectures", io::Json::Array{"T5ForConditionalGeneration"}},
          {"model_type", kT5Type},
          {"is_encoder_decoder", true},
          {"vocab_size", config.vocab_size},
          {"d_model", config.d_model},
          {"d_kv", config.d_kv},
          {"d_ff", config.d_ff},
          {"num_layers", config.num_layers},
          {"num_decoder_layers", config.num_decoder_layers},
          {"num_heads", config.num_heads},
          {"relative_attention_num_buckets", config.buckets},
          {"relative_attention_max_distance", config.max_distance},
          {"n_positions", config.n_positions},
          {"feed_forward_proj", projection_name(config)},
          {"layer_norm_epsilon", short_number(config.layer_norm_epsilon)},
          {"tie_word_embeddings", config.scales_output},
          {"dropout_rate", short_number(config.dropout)}};
}

void read_t5_feed_forward(const ConfigReader& reader, T5Config& config) {
  std::array<std::string_view, kProjections.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kProjections[i].name;
  const std::string_view name = reader.choice("feed_forward_proj", names, names[0]);
  for (const T5Projection& one : kProjections) {
    if (one.name != name) continue;
    config.activation = one.activation;
    config.gated = one.gated;
  }
  // Both say the same again; transformers lets them count.
  reader.require("is_gated_act", config.gated);
  if (reader.activation("dense_act_fn", config.activation) != config.activation) {
    reader.refuse("dense_act_fn", "is another activation than that of feed_forward_proj");
  }
}

void read_t5_biases(const ConfigReader& reader, T5Config& config) {
  constexpr int64_t kMostBuckets = 1'000'000;
  config.buckets = reader.size("relative_attention_num_buckets", kMostBuckets, config.buckets);
  config.max_distance = reader.size("relative_attention_max_distance", kMostIds, 128);
  if (config.buckets < 4 || config.max_distance <= config.buckets / 2) {
    reader.refuse("relative_attention_num_buckets",
                  "is " + std::to_string(config.buckets) +
                      ", at least 4 are needed, and relative_attention_max_distance " +
                      std::to_string(config.max_distance) + " must be more than half of them");
  }
}

T5Config read_t5_config(const ConfigReader& reader) {
  constexpr int64_t kUsualHeadWidth = 64;
  T5Config config;
  config.vocab_size = reader.size("vocab_size", kMostIds);
  config.d_model = reader.size(reader.spelling("d_model", "hidden_size"), kMostWidth);
  config.d_kv = reader.size("d_kv", kMostWidth, kUsualHeadWidth);
  config.d_ff = reader.size("d_ff", 4 * kMostWidth);
  config.num_layers = reader.size(reader.spelling("num_layers", "num_hidden_layers"), kMostLayers);
  config.num_decoder_layers = reader.size("num_decoder_layers", kMostLayers, config.num_layers);
  config.num_heads = reader.size(reader.spelling("num_heads", "num_attention_heads"), kMostWidth);
  if (config.num_heads * config.d_kv > kMostWidth) {
    reader.refuse("d_kv", "is " + std::to_string(config.d_kv) + ", " +
                              std::to_string(config.num_heads) +
                              " heads of that width are more than " + std::to_string(kMostWidth));
  }
  config.n_positions = reader.size("n_positions", kMostIds, config.n_positions);
  config.layer_norm_epsilon =
      reader.fraction("layer_norm_epsilon", false, config.layer_norm_epsilon);
  read_t5_feed_forward(reader, config);
  read_t5_biases(reader, config);
  config.scales_output =
      reader.boolean("scale_decoder_outputs", reader.boolean("tie_word_embeddings", true));
  config.dropout = reader.fraction("dropout_rate", true, 0);
  config.special_ids = reader.special_ids(config.vocab_size, OutsideIds::none);
  if (!config.special_ids.decoder_start)
    config.special_ids.decoder_start = config.special_ids.padding;
  refuse_quantized(reader);
  refuse_unread_settings(reader, kT5Type);
  return config;
}

// A table that earlier versions stored and nothing reads.
bool is_t5_buffer(const std::string& name, const nn::StoredTensor& /*tensor*/) {
  return name == "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight";
}

ModelPlan read_t5(const io::Json& json, const std::string& path,
                  const io::StoredTensors& /*tensors*/) {
  const ConfigReader reader(json, path);
  if (names_classifier(json)) {
    reader.refuse("architectures",
                  "names a model that classifies; of T5 only those that write are "
                  "read");
  }
  EncoderDecoderDesign design = design_of(read_t5_config(reader));
  set_heads_left(design, read_heads_left(json, path, heads_of_stacks(design)));
  return plan_of(design);
}

ModelPlan fresh_t5(const ModelRequest& request) {
  const auto layers = [&request](int64_t own) { return own > 0 ? own : request.n_layer; };
  return plan_of(design_of(T5Config{.vocab_size = request.vocab_size,
                                    .d_model = request.n_embd,
                                    .d_kv = request.n_embd / request.n_head,
                                    .d_ff = plain_hidden(request),
                                    .num_layers = layers(request.n_encoder_layer),
                                    .num_decoder_layers = layers(request.n_decoder_layer),
                                    .num_heads = request.n_head,
                                    .n_positions = request.block_size,
                                    .activation = *request.activation,
                                    .scales_output = *request.tie_embeddings,
                                    .tied_head = *request.tie_embeddings,
                                    .dropout = request.dropout,
                                    .special_ids = request.special_ids}));
}

// T5's own deviations: scores are not scaled, so queries start smaller.
float t5_deviation(const std::string& name, const nn::TransformerBlockOptions& layer) {
  const auto root = [](int64_t size) { return std::sqrt(static_cast<float>(size)); };
  if (name == "shared.weight" || name == "lm_head.weight") return 1;
  if (name.ends_with(".q.weight")) return 1 / root(layer.width * layer.head_dim);
  if (name.ends_with(".o.weight")) return 1 / root(layer.heads * layer.head_dim);
  if (name.ends_with(".wo.weight")) return 1 / root(layer.hidden);
  return 1 / root(layer.width);
}

void draw_t5(const nn::Parameters& parameters, const EncoderDecoderDesign& design, uint64_t seed) {
  for (const nn::ParameterHandle& one : parameters) {
    nn::draw_normal({one}, seed, t5_deviation(one->name(), design.encoder.layers.front()));
  }
}

}  // namespace

EncoderDecoderDesign design_of(const T5Config& given) {
  T5Config config = given;
  if (config.num_decoder_layers == 0) config.num_decoder_layers = config.num_layers;
  EncoderDecoderDesign design{
      .type = kT5Type,
      .config = t5_json(config),
      .tie_key = "",
      .vocab_size = config.vocab_size,
      .target_vocab_size = config.vocab_size,
      .shared_table = "shared",
      .encoder = t5_stack(config, "encoder", config.num_layers),
      .decoder = t5_stack(config, "decoder", config.num_decoder_layers),
      .tied_head = config.tied_head,
      .output_scale =
          config.scales_output ? 1 / std::sqrt(static_cast<float>(config.d_model)) : 1.0F,
      .special_ids = config.special_ids,
      .ignored = is_t5_buffer,
      .draw = draw_t5};
  set_heads_left(design, config.heads_left);
  return design;
}

Architecture t5_architecture() {
  return {.model_type = kT5Type,
          .capabilities = EncoderDecoderModel::kCapabilities,
          .read = read_t5,
          .fresh = fresh_t5,
          .choices = {.bias = always(false),
                      .tie_embeddings = by_default(true),
                      .pre_norm = always(true),
                      .activation = by_default(nn::Activation::relu),
                      .two_stacks = true}};
}

}  // namespace headlight::models
