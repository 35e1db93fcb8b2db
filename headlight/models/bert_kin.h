// RoBERTa, DistilBERT and ALBERT: BERT with positions that begin later, without segments, or with
// layers that share their weights.
#pragma once

#include "headlight/models/encoder_model.h"

namespace headlight::models {

// What the three have in common. Their layers have norms after the sums.
struct BertKinConfig {
  int64_t vocab_size = 30522;
  int64_t hidden_size = 768;
  int64_t embedding_size = 0;  // albert's; 0: hidden_size
  int64_t num_hidden_layers = 12;
  int64_t num_hidden_groups = 1;  // albert's: layers of a group share their weights
  int64_t inner_group_num = 1;    // ... and each of its layers is this many in a row
  int64_t num_attention_heads = 12;
  int64_t intermediate_size = 3072;
  int64_t max_position_embeddings = 512;  // rows of the table
  int64_t type_vocab_size = 2;
  nn::Activation activation = nn::Activation::gelu;
  float layer_norm_eps = 1e-12F;
  float dropout = 0;
  float attention_dropout = 0;
  bool pooler = false;
  bool masked_words = true;
  bool tied_head = true;
  SpecialIds special_ids = {};
  int64_t padding = 1;  // roberta's: positions begin behind it
  HeadsLeft heads_left = {};
  std::optional<Classes> classes = {};  // what it classifies, in place of masked words
  float classifier_dropout = 0;
  bool has_prefix = true;  // of all names but the head's
};

EncoderDesign roberta_design(const BertKinConfig& config);
EncoderDesign distilbert_design(const BertKinConfig& config);
EncoderDesign albert_design(const BertKinConfig& config);

Architecture roberta_architecture();
Architecture distilbert_architecture();
Architecture albert_architecture();

}  // namespace headlight::models
