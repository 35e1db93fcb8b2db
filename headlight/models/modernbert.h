// ModernBert: norms before sublayers, rotary positions with two bases, gated feed-forward layers,
// and windows in two of three layers.
#pragma once

#include <vector>

#include "headlight/models/encoder_model.h"

namespace headlight::models {

struct ModernBertConfig {
  int64_t vocab_size = 50368;
  int64_t hidden_size = 768;
  int64_t intermediate_size = 1152;
  int64_t num_hidden_layers = 22;
  int64_t num_attention_heads = 12;
  int64_t max_position_embeddings = 8192;
  nn::Activation activation = nn::Activation::gelu;
  float norm_eps = 1e-5F;
  bool norm_bias = false;
  bool attention_bias = false;
  bool mlp_bias = false;
  int64_t local_attention = 128;    // a window's width, to both sides together
  std::vector<bool> windowed = {};  // of each layer; empty: all but every third
  kernels::RotaryRates rotary = {.base = 160'000};
  kernels::RotaryRates window_rotary = {};  // of layers with a window
  // Of the head that predicts words or classifies.
  bool decoder_bias = true;
  bool head_bias = false;
  nn::Activation head_activation = nn::Activation::gelu;
  bool masked_words = true;
  std::optional<Classes> classes = {};  // what it classifies, in place of masked words
  bool classifies_mean = false;         // of all rows, in place of the first
  float classifier_dropout = 0;
  bool tied_head = true;
  float embedding_dropout = 0;
  float mlp_dropout = 0;
  float attention_dropout = 0;
  SpecialIds special_ids = {};
  HeadsLeft heads_left = {};
  std::string prefix = "model.";  // of all names but the head's
};

EncoderDesign design_of(const ModernBertConfig& config);

Architecture modernbert_architecture();

}  // namespace headlight::models
