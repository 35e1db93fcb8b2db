// Marian: the encoder-decoder of the paper with one table, sinusoidal positions in halves, and a
// constant that is added to the logits.
#pragma once

#include "headlight/models/encoder_decoder_model.h"

namespace headlight::models {

struct MarianConfig {
  int64_t vocab_size = 58101;
  int64_t decoder_vocab_size = 0;  // 0: vocab_size
  int64_t d_model = 1024;
  int64_t encoder_layers = 12;
  int64_t decoder_layers = 12;
  int64_t encoder_attention_heads = 16;
  int64_t decoder_attention_heads = 16;
  int64_t encoder_ffn_dim = 4096;
  int64_t decoder_ffn_dim = 4096;
  int64_t max_position_embeddings = 1024;
  nn::Activation activation = nn::Activation::gelu;
  bool scale_embedding = false;
  bool shared_embeddings = true;
  bool tied_head = true;
  float dropout = 0;
  float attention_dropout = 0;
  float activation_dropout = 0;
  SpecialIds special_ids = {};
  HeadsLeft heads_left = {};
  std::string prefix = "model.";  // of all names but that of final_logits_bias
};

EncoderDecoderDesign design_of(const MarianConfig& config);

Architecture marian_architecture();

}  // namespace headlight::models
