// GptNeo: GPT with scores that are not scaled, and with layers that see no further than a window.
#pragma once

#include <vector>

#include "headlight/models/decoder_model.h"

namespace headlight::models {

struct GptNeoConfig {
  int64_t vocab_size = 50257;
  int64_t hidden_size = 2048;
  int64_t num_layers = 24;
  int64_t num_heads = 16;
  int64_t intermediate_size = 0;  // 0: 4 * hidden_size
  int64_t max_position_embeddings = 2048;
  int64_t window_size = 256;
  std::vector<bool> local = {};  // of each layer: has the window; empty: every other has
  nn::Activation activation = nn::Activation::gelu_tanh;
  float layer_norm_epsilon = 1e-5F;
  bool tied_head = true;
  float dropout = 0;
  float embedding_dropout = 0;
  float attention_dropout = 0;
  SpecialIds special_ids = {};
  HeadsLeft heads_left = {};
  std::string prefix = "transformer.";  // of all names but the head's
};

DecoderDesign design_of(const GptNeoConfig& config);

Architecture gpt_neo_architecture();

}  // namespace headlight::models
