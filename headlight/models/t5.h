// T5: biases for how far a key is from its query in place of positions, RMSNorm, scores that are
// not scaled.
#pragma once

#include "headlight/models/encoder_decoder_model.h"

namespace headlight::models {

struct T5Config {
  int64_t vocab_size = 32128;
  int64_t d_model = 512;
  int64_t d_kv = 64;  // of a head
  int64_t d_ff = 2048;
  int64_t num_layers = 6;
  int64_t num_decoder_layers = 0;  // 0: num_layers
  int64_t num_heads = 8;
  int64_t buckets = 32;
  int64_t max_distance = 128;
  int64_t n_positions = 512;  // most ids of a sequence here; others know no bound
  float layer_norm_epsilon = 1e-6F;
  nn::Activation activation = nn::Activation::relu;
  bool gated = false;
  bool scales_output = true;  // what the output layer reads is multiplied by d_model^-1/2
  bool tied_head = true;
  float dropout = 0;
  SpecialIds special_ids = {};
  HeadsLeft heads_left = {};
};

EncoderDecoderDesign design_of(const T5Config& config);

Architecture t5_architecture();

}  // namespace headlight::models
