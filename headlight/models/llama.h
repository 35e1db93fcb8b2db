// Llama and the families that are built as it is: RMSNorm, rotary positions, gated feed-forward
// layers and grouped heads; what differs between them is data of a family.
#pragma once

#include <vector>

#include "headlight/models/decoder_model.h"

namespace headlight::models {

// Which layers see no further than a window, by what a configuration says of it.
enum class WindowedLayers {
  none,         // no layer has one
  all,          // sliding_window, if there is one, is for all
  chosen,       // use_sliding_window switches it on; layer_types or max_window_layers say where
  not_rotated,  // the same, and by default those without rotation
  most,         // layer_types or, by default, all but every sixth
};

// A family: what its configurations say where they say nothing, and which switches they have.
struct LlamaFamily {
  std::string_view type;
  std::string_view architecture;  // of a folder, as transformers calls it
  int64_t kv_heads = 0;           // 0: as many as heads
  int64_t positions = 0;          // 0: they must be named
  int64_t head_dim = 0;           // 0: width / heads
  double rope_theta = 10000;
  double window_rope_theta = 0;  // of layers with a window; 0: as the others
  bool tied_head = false;
  bool always_qkv_bias = false;  // on queries, keys and values, never elsewhere
  bool attention_bias = false;   // whether there is such a switch, for all four
  bool mlp_bias = false;
  bool query_key_norms = false;
  WindowedLayers windows = WindowedLayers::none;
  int64_t window = 0;           // 0: none
  bool skips_rotation = false;  // no_rope_layers, and by default every fourth
  // Gemma's: norms that multiply by 1 + weight before and after sublayers, embeddings times the
  // root of the width, a scale of scores by query_pre_attn_scalar.
  bool gemma = false;
  int64_t score_scalar = 0;  // query_pre_attn_scalar; 0: the width of a head, always
  std::string_view activation_key = "hidden_act";
  nn::Activation activation = nn::Activation::silu;
};

struct LlamaConfig {
  int64_t vocab_size = 32000;
  int64_t hidden_size = 4096;
  int64_t intermediate_size = 11008;
  int64_t num_hidden_layers = 32;
  int64_t num_attention_heads = 32;
  int64_t num_key_value_heads = 0;  // 0: as many as heads
  int64_t head_dim = 0;             // 0: hidden_size / num_attention_heads
  int64_t max_position_embeddings = 2048;
  nn::Activation activation = nn::Activation::silu;
  float rms_norm_eps = 1e-6F;
  kernels::RotaryRates rotary = {};         // its width is the head's
  kernels::RotaryRates window_rotary = {};  // of layers with a window, where they have their own
  int64_t score_scalar = 0;                 // scores are divided by its root; 0: the head's width
  bool attention_bias = false;
  bool mlp_bias = false;
  int64_t window = 0;                // of layers that have one
  std::vector<bool> windowed = {};   // of each layer; empty: none
  std::vector<bool> unrotated = {};  // of each layer; empty: none
  bool tied_head = false;
  float attention_dropout = 0;
  SpecialIds special_ids = {};
  HeadsLeft heads_left = {};
  std::string prefix = "model.";  // of all names but the head's
};

// The families.
inline constexpr LlamaFamily kLlama = {.type = "llama",
                                       .architecture = "LlamaForCausalLM",
                                       .positions = 2048,
                                       .attention_bias = true,
                                       .mlp_bias = true};
inline constexpr LlamaFamily kMistral = {.type = "mistral",
                                         .architecture = "MistralForCausalLM",
                                         .kv_heads = 8,
                                         .windows = WindowedLayers::all,
                                         .window = 4096};
inline constexpr LlamaFamily kQwen2 = {.type = "qwen2",
                                       .architecture = "Qwen2ForCausalLM",
                                       .kv_heads = 32,
                                       .always_qkv_bias = true,
                                       .windows = WindowedLayers::chosen,
                                       .window = 4096};
inline constexpr LlamaFamily kQwen3 = {.type = "qwen3",
                                       .architecture = "Qwen3ForCausalLM",
                                       .kv_heads = 32,
                                       .head_dim = 128,
                                       .attention_bias = true,
                                       .query_key_norms = true,
                                       .windows = WindowedLayers::chosen,
                                       .window = 4096};
inline constexpr LlamaFamily kSmolLm3 = {.type = "smollm3",
                                         .architecture = "SmolLM3ForCausalLM",
                                         .kv_heads = 4,
                                         .rope_theta = 2'000'000,
                                         .tied_head = true,
                                         .attention_bias = true,
                                         .mlp_bias = true,
                                         .windows = WindowedLayers::not_rotated,
                                         .skips_rotation = true};
inline constexpr LlamaFamily kGemma3 = {.type = "gemma3_text",
                                        .architecture = "Gemma3ForCausalLM",
                                        .kv_heads = 4,
                                        .head_dim = 256,
                                        .rope_theta = 1'000'000,
                                        .window_rope_theta = 10'000,
                                        .tied_head = true,
                                        .attention_bias = true,
                                        .query_key_norms = true,
                                        .windows = WindowedLayers::most,
                                        .window = 4096,
                                        .gemma = true,
                                        .score_scalar = 256,
                                        .activation_key = "hidden_activation",
                                        .activation = nn::Activation::gelu_tanh};

LlamaConfig read_llama_config(const LlamaFamily& family, const io::Json& json,
                              const std::string& path);
// `family` outlives it.
DecoderDesign design_of(const LlamaFamily& family, const LlamaConfig& config);

// One for each family.
std::vector<Architecture> llama_architectures();

}  // namespace headlight::models
