// Opt: positions counted from 2, norms before the sublayers or after the sums, ReLU.
#pragma once

#include "headlight/models/decoder_model.h"

namespace headlight::models {

struct OptConfig {
  int64_t vocab_size = 50272;
  int64_t hidden_size = 768;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 12;
  int64_t ffn_dim = 3072;
  int64_t word_embed_proj_dim = 0;  // width of the embedding table; 0: hidden_size
  int64_t max_position_embeddings = 2048;
  bool norm_before = true;  // and then one after the last layer, unless it is removed
  bool removes_final_norm = false;
  nn::Activation activation = nn::Activation::relu;
  bool bias = true;  // of linear layers
  bool tied_head = true;
  float dropout = 0;
  float attention_dropout = 0;
  SpecialIds special_ids = {};
  HeadsLeft heads_left = {};
  std::string prefix = "model.decoder.";  // of all names but the head's
};

DecoderDesign design_of(const OptConfig& config);

Architecture opt_architecture();

}  // namespace headlight::models
