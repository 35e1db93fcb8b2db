// RoBERTa, DistilBERT and ALBERT: their layers and the names of their tensors.
#include "headlight/models/bert_kin.h"

#include "headlight/models/config_reader.h"

namespace headlight::models {
namespace {

// Names of a layer: stems behind its own, of query, key, value, output, the norm of their sum, the
// two feed-forward layers and the norm of theirs.
struct KinLayerNames {
  std::array<const char*, 3> inputs;
  const char* output;
  const char* attention_norm;
  const char* first;
  const char* second;
  const char* norm;
};
constexpr KinLayerNames kRobertaLayer = {
    {"attention.self.query", "attention.self.key", "attention.self.value"},
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "output.LayerNorm"};
constexpr KinLayerNames kDistilLayer = {{"attention.q_lin", "attention.k_lin", "attention.v_lin"},
                                        "attention.out_lin",
                                        "sa_layer_norm",
                                        "ffn.lin1",
                                        "ffn.lin2",
                                        "output_layer_norm"};
constexpr KinLayerNames kAlbertLayer = {{"attention.query", "attention.key", "attention.value"},
                                        "attention.dense",
                                        "attention.LayerNorm",
                                        "ffn",
                                        "ffn_output",
                                        "full_layer_layer_norm"};

nn::TransformerBlockOptions kin_layer(const BertKinConfig& config, const KinLayerNames& names,
                                      const std::string& stem, int64_t layer) {
  nn::AttentionNames attention;
  for (size_t i = 0; i < names.inputs.size(); ++i) {
    attention.weights[i] = stem + names.inputs[i] + ".weight";
    attention.biases[i] = stem + names.inputs[i] + ".bias";
  }
  attention.output_weight = stem + names.output + ".weight";
  attention.output_bias = stem + names.output + ".bias";
  return {.width = config.hidden_size,
          .heads = config.num_attention_heads,
          .hidden = config.intermediate_size,
          .activation = config.activation,
          .epsilon = config.layer_norm_eps,
          .dropout = config.dropout,
          .attention_dropout = config.attention_dropout,
          .names = {.self = attention,
                    .self_norm = stem + names.attention_norm,
                    .feed_forward_norm = stem + names.norm,
                    .first = stem + names.first,
                    .second = stem + names.second},
          .place = "encoder." + std::to_string(layer)};
}

// What all three have; layers and heads are added.
EncoderDesign kin_design(const BertKinConfig& config, const std::string& prefix) {
  const int64_t narrow = config.embedding_size > 0 ? config.embedding_size : config.hidden_size;
  return {.vocab_size = config.vocab_size,
          .embedding_width = narrow,
          .table = prefix + "embeddings.word_embeddings",
          .embedding = {.max_length = config.max_position_embeddings,
                        .learned_positions = prefix + "embeddings.position_embeddings",
                        .place = "encoder"},
          .norm = {.epsilon = config.layer_norm_eps},
          .embedding_norm = prefix + "embeddings.LayerNorm",
          .dropout = config.dropout,
          .tied_head = config.tied_head,
          .special_ids = config.special_ids};
}

// The head that orders sentences, which is not computed here.
bool is_sentence_head(const std::string& name, const nn::StoredTensor& /*tensor*/) {
  return name.starts_with("sop_classifier.");
}

io::Json::Object kin_json(const BertKinConfig& config, std::string_view type) {
  return {{"model_type", type},
          {"vocab_size", config.vocab_size},
          {"hidden_size", config.hidden_size},
          {"num_hidden_layers", config.num_hidden_layers},
          {"num_attention_heads", config.num_attention_heads},
          {"intermediate_size", config.intermediate_size},
          {"max_position_embeddings", config.max_position_embeddings},
          {"type_vocab_size", config.type_vocab_size},
          {"hidden_act", kernels::name_of(config.activation)},
          {"layer_norm_eps", short_number(config.layer_norm_eps)},
          {"hidden_dropout_prob", short_number(config.dropout)},
          {"attention_probs_dropout_prob", short_number(config.attention_dropout)}};
}

}  // namespace

EncoderDesign roberta_design(const BertKinConfig& config) {
  const std::string prefix = config.has_prefix ? "roberta." : "";
  EncoderDesign design = kin_design(config, prefix);
  design.type = "roberta";
  design.architecture = "RobertaModel";
  design.masked_architecture = "RobertaForMaskedLM";
  design.config = kin_json(config, design.type);
  design.embedding.position_start = config.padding + 1;
  design.embedding.unplaced_id = config.padding;
  design.embedding.max_length -= design.embedding.position_start;
  design.segments = prefix + "embeddings.token_type_embeddings";
  design.segment_rows = config.type_vocab_size;
  if (config.pooler) design.pooler = prefix + "pooler.dense";
  // Its head has this activation, whatever the layers have.
  if (config.masked_words) {
    design.masked_words = MaskedWordsDesign{.transform = "lm_head.dense",
                                            .activation = nn::Activation::gelu,
                                            .norm = "lm_head.layer_norm",
                                            .weight = "lm_head.decoder.weight",
                                            .bias = "lm_head.bias",
                                            .layer_bias = "lm_head.decoder.bias"};
  }
  if (config.classes) {
    design.config.emplace_back("classifier_dropout", short_number(config.classifier_dropout));
    design.classifier = ClassifierDesign{.classes = *config.classes,
                                         .transform = "classifier.dense",
                                         .output = "classifier.out_proj",
                                         .dropout = config.classifier_dropout,
                                         .drops_input = true};
  }
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string stem = prefix + "encoder.layer." + std::to_string(layer) + ".";
    design.layers.push_back(kin_layer(config, kRobertaLayer, stem, layer));
  }
  set_heads_left(design.layers, config.heads_left, design.type);
  return design;
}

EncoderDesign distilbert_design(const BertKinConfig& config) {
  const std::string prefix = config.has_prefix ? "distilbert." : "";
  EncoderDesign design = kin_design(config, prefix);
  design.type = "distilbert";
  design.architecture = "DistilBertModel";
  design.masked_architecture = "DistilBertForMaskedLM";
  design.config = {{"model_type", design.type},
                   {"vocab_size", config.vocab_size},
                   {"dim", config.hidden_size},
                   {"n_layers", config.num_hidden_layers},
                   {"n_heads", config.num_attention_heads},
                   {"hidden_dim", config.intermediate_size},
                   {"max_position_embeddings", config.max_position_embeddings},
                   {"activation", kernels::name_of(config.activation)},
                   {"dropout", short_number(config.dropout)},
                   {"attention_dropout", short_number(config.attention_dropout)}};
  if (config.masked_words) {
    design.masked_words = MaskedWordsDesign{.transform = "vocab_transform",
                                            .activation = config.activation,
                                            .norm = "vocab_layer_norm",
                                            .weight = "vocab_projector.weight",
                                            .bias = "vocab_projector.bias"};
  }
  if (config.classes) {
    design.config.emplace_back("seq_classif_dropout", short_number(config.classifier_dropout));
    design.classifier = ClassifierDesign{.classes = *config.classes,
                                         .transform = "pre_classifier",
                                         .activation = nn::Activation::relu,
                                         .dropout = config.classifier_dropout};
  }
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string stem = prefix + "transformer.layer." + std::to_string(layer) + ".";
    design.layers.push_back(kin_layer(config, kDistilLayer, stem, layer));
    design.layers.back().attention_output_dropout = 0;
  }
  set_heads_left(design.layers, config.heads_left, design.type);
  return design;
}

EncoderDesign albert_design(const BertKinConfig& config) {
  const std::string prefix = config.has_prefix ? "albert." : "";
  EncoderDesign design = kin_design(config, prefix);
  design.type = "albert";
  design.architecture = "AlbertModel";
  design.masked_architecture = "AlbertForMaskedLM";
  design.config = kin_json(config, design.type);
  design.config.emplace_back("embedding_size", design.embedding_width);
  design.config.emplace_back("num_hidden_groups", config.num_hidden_groups);
  design.config.emplace_back("inner_group_num", config.inner_group_num);
  design.segments = prefix + "embeddings.token_type_embeddings";
  design.segment_rows = config.type_vocab_size;
  design.projection = prefix + "encoder.embedding_hidden_mapping_in";
  design.ignored = is_sentence_head;
  if (config.pooler && !config.classes) design.pooler = prefix + "pooler";
  if (config.classes) {
    design.config.emplace_back("classifier_dropout_prob", short_number(config.classifier_dropout));
    design.classifier = ClassifierDesign{.classes = *config.classes,
                                         .transform = prefix + "pooler",
                                         .dropout = config.classifier_dropout};
  }
  if (config.masked_words) {
    design.masked_words = MaskedWordsDesign{.transform = "predictions.dense",
                                            .activation = config.activation,
                                            .norm = "predictions.LayerNorm",
                                            .weight = "predictions.decoder.weight",
                                            .bias = "predictions.bias",
                                            .layer_bias = "predictions.decoder.bias"};
  }
  // Divided as the published code divides: elsewhere a layer may fall into the group before.
  const double layers_of_group =
      static_cast<double>(config.num_hidden_layers) / static_cast<double>(config.num_hidden_groups);
  for (int64_t step = 0; step < config.num_hidden_layers; ++step) {
    const auto group = static_cast<int64_t>(static_cast<double>(step) / layers_of_group);
    for (int64_t inner = 0; inner < config.inner_group_num; ++inner) {
      const std::string stem = prefix + "encoder.albert_layer_groups." + std::to_string(group) +
                               ".albert_layers." + std::to_string(inner) + ".";
      const auto layer = static_cast<int64_t>(design.layers.size());
      design.layers.push_back(kin_layer(config, kAlbertLayer, stem, layer));
      design.layers.back().feed_forward_dropout = 0;
      size_t first = 0;  // of this group and place in it
      while (design.layers[first].names.first != design.layers.back().names.first) ++first;
      design.shared.push_back(first);
    }
  }
  return design;
}

}  // namespace headlight::models
