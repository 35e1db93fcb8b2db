// The configuration of a bert folder, both ways, and BERT's row in the registry.
#include "headlight/models/bert.h"
#include "headlight/models/classes_config.h"
#include "headlight/models/config_reader.h"
#include "headlight/models/parameters.h"

namespace headlight::models {
namespace {

int64_t activations_of(const BertConfig& config) {
  int64_t kept = 0;
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    kept +=
        kept_of_layer(config.hidden_size, merged_width(config, layer), config.intermediate_size);
  }
  return kept;
}

ModelPlan plan_of(const BertConfig& config) {
  return {.parameters = parameter_count(config),
          .activations = activations_of(config),
          .make = [config] { return std::make_unique<Bert>(config); },
          .untied =
              [config](const std::string& copy) {
                BertConfig untied = config;
                untied.tied_head = config.tied_head && !copy.ends_with("weight");
                untied.decoder_bias = config.decoder_bias || copy.ends_with("bias");
                return plan_of(untied);
              }};
}

// Folders have names with the prefix or without, and the parts that they were trained for.
ModelPlan read_bert(const io::Json& json, const std::string& path,
                    const io::StoredTensors& tensors) {
  BertConfig config = Bert::read_config(json, path);
  if (!any_starts_with(tensors, config.prefix)) config.prefix.clear();
  const auto has = [&](const std::string& name) {
    return !config.classes && tensors.find(name) != nullptr;
  };
  config.pooler = has(config.prefix + "pooler.dense.weight");
  config.masked_words = has("cls.predictions.transform.dense.weight");
  const bool has_both = tensors.find("cls.predictions.bias") != nullptr && config.tied_head;
  config.decoder_bias = tensors.find("cls.predictions.decoder.bias") != nullptr && !has_both;
  return plan_of(config);
}

// To be trained on masked words; nothing trains a pooler.
ModelPlan fresh_bert(const ModelRequest& request) {
  return plan_of(BertConfig{.vocab_size = request.vocab_size,
                            .hidden_size = request.n_embd,
                            .num_hidden_layers = request.n_layer,
                            .num_attention_heads = request.n_head,
                            .intermediate_size = plain_hidden(request),
                            .max_position_embeddings = request.block_size,
                            .activation = *request.activation,
                            .dropout = request.dropout,
                            .pooler = false,
                            .tied_head = *request.tie_embeddings,
                            .decoder_bias = !*request.tie_embeddings,
                            .special_ids = request.special_ids});
}

}  // namespace

BertConfig Bert::read_config(const io::Json& json, const std::string& path) {
  const ConfigReader reader(json, path);
  BertConfig config;
  config.vocab_size = reader.size("vocab_size", kMostIds);
  config.hidden_size = reader.size("hidden_size", kMostWidth);
  config.num_hidden_layers = reader.size("num_hidden_layers", kMostLayers);
  config.num_attention_heads = reader.size("num_attention_heads", kMostWidth);
  config.intermediate_size = reader.size("intermediate_size", 4 * kMostWidth);
  config.max_position_embeddings = reader.size("max_position_embeddings", kMostIds);
  config.type_vocab_size = reader.size("type_vocab_size", kMostIds, config.type_vocab_size);
  config.activation = reader.activation("hidden_act", config.activation);
  config.layer_norm_eps = reader.fraction("layer_norm_eps", false, config.layer_norm_eps);
  config.dropout = reader.fraction("hidden_dropout_prob", true, 0);
  config.attention_dropout = reader.fraction("attention_probs_dropout_prob", true, config.dropout);
  config.classes = read_classes(reader);
  config.classifier_dropout = reader.fraction("classifier_dropout", true, config.dropout);
  config.special_ids = reader.special_ids(config.vocab_size, OutsideIds::none);
  reader.check_heads("num_attention_heads", config.num_attention_heads, config.hidden_size);
  config.heads_left = read_heads_left(json, path, attention_heads(config));
  reader.require("position_embedding_type", "absolute");
  reader.require("is_decoder", false);
  reader.require_same("num_attention_heads", "n_head");
  reader.require_same("num_hidden_layers", "n_layer");
  reader.require_same("hidden_size", "n_embd");
  reader.require_same("intermediate_size", "n_inner");
  reader.require_same("max_position_embeddings", "n_positions");
  reader.require_same("layer_norm_eps", "layer_norm_epsilon");
  reader.require_same("hidden_act", "activation_function");
  refuse_foreign_settings(reader);
  config.tied_head = reader.boolean("tie_word_embeddings", true);
  refuse_unread_settings(reader, kType);
  return config;
}

io::Json Bert::config() const {
  io::Json::Object config = {
      {"architectures",
       io::Json::Array{config_.masked_words
                           ? (config_.pooler ? "BertForPreTraining" : "BertForMaskedLM")
                           : "BertModel"}},
      {"model_type", kType},
      {"vocab_size", config_.vocab_size},
      {"hidden_size", config_.hidden_size},
      {"num_hidden_layers", config_.num_hidden_layers},
      {"num_attention_heads", config_.num_attention_heads},
      {"intermediate_size", config_.intermediate_size},
      {"max_position_embeddings", config_.max_position_embeddings},
      {"type_vocab_size", config_.type_vocab_size},
      {"hidden_act", kernels::name_of(config_.activation)},
      {"layer_norm_eps", short_number(config_.layer_norm_eps)},
      {"hidden_dropout_prob", short_number(config_.dropout)},
      {"attention_probs_dropout_prob",
       short_number(config_.attention_dropout.value_or(config_.dropout))}};
  if (classifier_) {
    config.emplace_back("classifier_dropout", short_number(config_.classifier_dropout));
    write_classes(config, *config_.classes);
  }
  if (!config_.tied_head) config.emplace_back("tie_word_embeddings", false);
  write_heads_left(config, config_.heads_left, attention_heads(config_));
  write_special_ids(config, config_.special_ids);
  return config;
}

Architecture bert_architecture() {
  return {.model_type = Bert::kType,
          .capabilities = Bert::kCapabilities,
          .read = read_bert,
          .modern_name = modern_norm_name,
          .fresh = fresh_bert,
          .choices = {.bias = always(true),
                      .tie_embeddings = by_default(true),
                      .pre_norm = always(false),
                      .learned_positions = always(true),
                      .activation = by_default(nn::Activation::gelu)}};
}

}  // namespace headlight::models
