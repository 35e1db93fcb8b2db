// GptNeoX: attention and feed-forward layers side by side, rotation of a part of each head,
// queries, keys and values of heads in turns. Pythia is one.
#pragma once

#include "headlight/models/decoder_model.h"

namespace headlight::models {

struct GptNeoXConfig {
  int64_t vocab_size = 50432;
  int64_t hidden_size = 6144;
  int64_t num_hidden_layers = 44;
  int64_t num_attention_heads = 64;
  int64_t intermediate_size = 24576;
  int64_t max_position_embeddings = 2048;
  nn::Activation activation = nn::Activation::gelu;
  float layer_norm_eps = 1e-5F;
  bool parallel_residual = true;
  bool attention_bias = true;
  double rotary_share = 0.25;        // of a head's columns
  kernels::RotaryRates rotary = {};  // its width is that of the share
  bool tied_head = false;
  float dropout = 0;
  float attention_dropout = 0;
  SpecialIds special_ids = {};
  HeadsLeft heads_left = {};
  std::string prefix = "gpt_neox.";  // of all names but the head's
  std::string head = "embed_out";
};

DecoderDesign design_of(const GptNeoXConfig& config);

Architecture gpt_neox_architecture();

}  // namespace headlight::models
