// The configurations of roberta, distilbert and albert folders, and their rows in the registry.
#include "headlight/models/bert_kin.h"
#include "headlight/models/classes_config.h"
#include "headlight/models/config_reader.h"
#include "headlight/models/parameters.h"

namespace headlight::models {
namespace {

using KinDesign = EncoderDesign (*)(const BertKinConfig& config);

void read_kin_sizes(const ConfigReader& reader, BertKinConfig& config) {
  config.hidden_size = reader.size("hidden_size", kMostWidth);
  config.num_hidden_layers = reader.size("num_hidden_layers", kMostLayers);
  config.num_attention_heads = reader.size("num_attention_heads", kMostWidth);
  config.intermediate_size = reader.size("intermediate_size", 4 * kMostWidth);
  config.type_vocab_size = reader.size("type_vocab_size", kMostIds, config.type_vocab_size);
  config.layer_norm_eps = reader.fraction("layer_norm_eps", false, config.layer_norm_eps);
  config.dropout = reader.fraction("hidden_dropout_prob", true, 0);
  config.attention_dropout = reader.fraction("attention_probs_dropout_prob", true, 0);
  reader.check_heads("num_attention_heads", config.num_attention_heads, config.hidden_size);
}

// What is read of all three, before and after what is their own.
void read_kin_common(const ConfigReader& reader, BertKinConfig& config) {
  config.classes = read_classes(reader);
  config.vocab_size = reader.size("vocab_size", kMostIds);
  config.max_position_embeddings = reader.size("max_position_embeddings", kMostIds);
  config.tied_head = reader.boolean("tie_word_embeddings", true);
  config.special_ids = reader.special_ids(config.vocab_size, OutsideIds::none);
  reader.require("position_embedding_type", "absolute");
  reader.require("is_decoder", false);
  refuse_foreign_settings(reader);
}

BertKinConfig read_roberta_config(const ConfigReader& reader) {
  BertKinConfig config;
  read_kin_common(reader, config);
  read_kin_sizes(reader, config);
  config.activation = reader.activation("hidden_act", config.activation);
  config.classifier_dropout = reader.fraction("classifier_dropout", true, config.dropout);
  config.padding = reader.integer("pad_token_id", 0, config.max_position_embeddings, 1);
  if (config.max_position_embeddings < config.padding + 2) {
    reader.refuse("max_position_embeddings",
                  "is " + std::to_string(config.max_position_embeddings) +
                      ", positions begin at pad_token_id + 1, which is " +
                      std::to_string(config.padding + 1));
  }
  refuse_unread_settings(reader, "roberta");
  return config;
}

BertKinConfig read_distilbert_config(const ConfigReader& reader) {
  constexpr int64_t kUsualHidden = 3072;
  BertKinConfig config;
  read_kin_common(reader, config);
  const auto size = [&reader](std::string_view key, std::string_view other, int64_t most) {
    return reader.size(reader.spelling(key, other), most);
  };
  config.hidden_size = size("dim", "hidden_size", kMostWidth);
  config.num_hidden_layers = size("n_layers", "num_hidden_layers", kMostLayers);
  config.num_attention_heads = size("n_heads", "num_attention_heads", kMostWidth);
  config.intermediate_size = reader.size("hidden_dim", 4 * kMostWidth, kUsualHidden);
  config.activation = reader.activation("activation", config.activation);
  config.dropout = reader.fraction("dropout", true, 0);
  config.attention_dropout = reader.fraction("attention_dropout", true, 0);
  config.classifier_dropout = reader.fraction("seq_classif_dropout", true, 0);
  reader.check_heads("n_heads", config.num_attention_heads, config.hidden_size);
  refuse_unread_settings(reader, "distilbert");
  return config;
}

BertKinConfig read_albert_config(const ConfigReader& reader) {
  constexpr int64_t kUsualEmbedding = 128;
  BertKinConfig config{.activation = nn::Activation::gelu_tanh};
  read_kin_common(reader, config);
  read_kin_sizes(reader, config);
  config.activation = reader.activation("hidden_act", config.activation);
  config.classifier_dropout = reader.fraction("classifier_dropout_prob", true, 0);
  config.embedding_size = reader.size("embedding_size", kMostWidth, kUsualEmbedding);
  config.num_hidden_groups = reader.size("num_hidden_groups", kMostLayers, 1);
  config.inner_group_num = reader.size("inner_group_num", kMostLayers, 1);
  if (config.num_hidden_groups > config.num_hidden_layers) {
    reader.refuse("num_hidden_groups", "is " + std::to_string(config.num_hidden_groups) + ", " +
                                           std::to_string(config.num_hidden_layers) +
                                           " layers cannot be in so many");
  }
  if (config.num_hidden_layers * config.inner_group_num > kMostLayers) {
    reader.refuse("inner_group_num", "makes more than " + std::to_string(kMostLayers) + " layers");
  }
  refuse_unread_settings(reader, "albert");
  return config;
}

// Folders have names with the prefix or without, and the parts that they were trained for.
ModelPlan read_kin(BertKinConfig config, KinDesign design_of_kin, const ConfigReader& reader,
                   const io::StoredTensors& tensors) {
  const EncoderDesign usual = design_of_kin(config);
  config.has_prefix = any_starts_with(tensors, usual.table.substr(0, usual.table.find('.') + 1));
  config.masked_words =
      !config.classes && tensors.find(usual.masked_words->transform + ".weight") != nullptr;
  config.pooler = true;
  const std::string pooler = design_of_kin(config).pooler;
  config.pooler = !pooler.empty() && tensors.find(pooler + ".weight") != nullptr;
  EncoderDesign design = design_of_kin(config);
  if (design.masked_words && !design.masked_words->layer_bias.empty()) {
    design.own_bias = tensors.find(design.masked_words->bias) == nullptr &&
                      tensors.find(design.masked_words->layer_bias) != nullptr;
  }
  const HeadsLeft left =
      read_heads_left(reader.json(), reader.path(), heads_of_layers(design.layers));
  if (!left.empty() && !design.shared.empty()) {
    reader.refuse("headlight_heads", "layers share their weights, none of them can lose a head");
  }
  set_heads_left(design.layers, left, design.type);
  return plan_of(design);
}

ModelPlan read_roberta(const io::Json& json, const std::string& path,
                       const io::StoredTensors& tensors) {
  const ConfigReader reader(json, path);
  return read_kin(read_roberta_config(reader), roberta_design, reader, tensors);
}

ModelPlan read_distilbert(const io::Json& json, const std::string& path,
                          const io::StoredTensors& tensors) {
  const ConfigReader reader(json, path);
  return read_kin(read_distilbert_config(reader), distilbert_design, reader, tensors);
}

ModelPlan read_albert(const io::Json& json, const std::string& path,
                      const io::StoredTensors& tensors) {
  const ConfigReader reader(json, path);
  return read_kin(read_albert_config(reader), albert_design, reader, tensors);
}

// To be trained on masked words; nothing trains a pooler.
BertKinConfig fresh_kin(const ModelRequest& request) {
  return {.vocab_size = request.vocab_size,
          .hidden_size = request.n_embd,
          .num_hidden_layers = request.n_layer,
          .num_attention_heads = request.n_head,
          .intermediate_size = plain_hidden(request),
          .max_position_embeddings = request.block_size,
          .activation = *request.activation,
          .dropout = request.dropout,
          .attention_dropout = request.dropout,
          .tied_head = *request.tie_embeddings,
          .special_ids = request.special_ids};
}

FreshChoices kin_choices(nn::Activation activation) {
  return {.bias = always(true),
          .tie_embeddings = by_default(true),
          .pre_norm = always(false),
          .learned_positions = always(true),
          .activation = by_default(activation)};
}

ModelPlan fresh_roberta(const ModelRequest& request) {
  BertKinConfig config = fresh_kin(request);
  config.type_vocab_size = 1;
  config.padding = request.special_ids.padding.value_or(1);
  config.special_ids.padding = config.padding;
  config.max_position_embeddings += config.padding + 1;
  return plan_of(roberta_design(config));
}

ModelPlan fresh_distilbert(const ModelRequest& request) {
  return plan_of(distilbert_design(fresh_kin(request)));
}

ModelPlan fresh_albert(const ModelRequest& request) {
  BertKinConfig config = fresh_kin(request);
  config.embedding_size = request.n_embd;
  return plan_of(albert_design(config));
}

}  // namespace

Architecture roberta_architecture() {
  return {.model_type = "roberta",
          .capabilities = EncoderModel::kCapabilities,
          .read = read_roberta,
          .modern_name = modern_norm_name,
          .fresh = fresh_roberta,
          .choices = kin_choices(nn::Activation::gelu)};
}

Architecture distilbert_architecture() {
  return {.model_type = "distilbert",
          .capabilities = EncoderModel::kCapabilities,
          .read = read_distilbert,
          .modern_name = modern_norm_name,
          .fresh = fresh_distilbert,
          .choices = kin_choices(nn::Activation::gelu)};
}

Architecture albert_architecture() {
  return {.model_type = "albert",
          .capabilities = EncoderModel::kCapabilities,
          .read = read_albert,
          .modern_name = modern_norm_name,
          .fresh = fresh_albert,
          .choices = kin_choices(nn::Activation::gelu_tanh)};
}

}  // namespace headlight::models
