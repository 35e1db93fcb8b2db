// The configuration of a bert folder, both ways.
#include "headlight/models/config_reader.h"
#include "headlight/models/encoder.h"

namespace headlight::models {

EncoderConfig Encoder::read_config(const io::Json& json, const std::string& path) {
  const ConfigReader reader(json, path);
  EncoderConfig config;
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
  config.special_ids = reader.special_ids(config.vocab_size, OutsideIds::none);
  reader.check_heads("num_attention_heads", config.num_attention_heads, config.hidden_size);
  reader.require("position_embedding_type", "absolute");
  reader.require("is_decoder", false);
  reader.require("tie_word_embeddings", true);
  return config;
}

io::Json Encoder::config() const {
  io::Json::Object config = {
      {"architectures",
       io::Json::Array{config_.masked_words
                           ? (config_.pooler ? "BertForPreTraining" : "BertForMaskedLM")
                           : "BertModel"}},
      {"model_type", type()},
      {"vocab_size", config_.vocab_size},
      {"hidden_size", config_.hidden_size},
      {"num_hidden_layers", config_.num_hidden_layers},
      {"num_attention_heads", config_.num_attention_heads},
      {"intermediate_size", config_.intermediate_size},
      {"max_position_embeddings", config_.max_position_embeddings},
      {"type_vocab_size", config_.type_vocab_size},
      {"hidden_act", activation_name(config_.activation)},
      {"layer_norm_eps", short_number(config_.layer_norm_eps)},
      {"hidden_dropout_prob", short_number(config_.dropout)},
      {"attention_probs_dropout_prob", short_number(config_.dropout)}};
  write_special_ids(config, config_.special_ids);
  return config;
}

}  // namespace headlight::models
