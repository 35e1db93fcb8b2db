// ModelRequest: what a fresh model is to be; and what an architecture leaves to who asks for one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "headlight/models/model.h"

namespace headlight::models {

// In the words of training keys. What is left open the architecture decides.
struct ModelRequest {
  int64_t vocab_size = 0;
  int64_t n_layer = 0;
  int64_t n_encoder_layer = 0;  // 0: n_layer
  int64_t n_decoder_layer = 0;  // 0: n_layer
  int64_t n_head = 0;
  int64_t n_kv_head = 0;  // 0: n_head
  int64_t n_embd = 0;
  int64_t d_ff = 0;            // 0: as the architecture has it
  int64_t block_size = 0;      // most ids of a sequence
  int64_t sliding_window = 0;  // of layers that have one; 0: as the architecture has it
  double rope_theta = 0;       // base of rotary positions; 0: as the architecture has it
  float dropout = 0;
  std::optional<bool> bias = {};
  std::optional<bool> tie_embeddings = {};
  std::optional<bool> pre_norm = {};
  std::optional<bool> learned_positions = {};
  std::optional<nn::Activation> activation = {};
  SpecialIds special_ids = {};
};

// Whether models of a kind can be had in several ways.
enum class ChoiceKind {
  absent,  // there is no such thing
  fixed,   // all have the same
  open,    // who asks for a model decides
};
template <class T>
struct Choice {
  ChoiceKind kind = ChoiceKind::absent;
  T value = {};  // of all, or where nothing is asked
};
template <class T>
constexpr Choice<T> always(T value) {
  return {ChoiceKind::fixed, value};
}
template <class T>
constexpr Choice<T> by_default(T value) {
  return {ChoiceKind::open, value};
}

// What an architecture makes of a request besides its sizes and its dropout.
struct FreshChoices {
  Choice<bool> bias = {};  // of linear layers (and norms), where folders have a switch for it
  Choice<bool> tie_embeddings = {};
  Choice<bool> pre_norm = {};
  Choice<bool> learned_positions = {};  // or sinusoidal ones
  Choice<nn::Activation> activation = {};
  bool n_kv_head = false;
  bool rope_theta = false;
  bool sliding_window = false;
  bool two_stacks = false;  // n_encoder_layer and n_decoder_layer
};

// Whether a key ("bias", "norm", "n_kv_head") is left to who asks. Keys that no architecture could
// refuse are.
bool is_open(const FreshChoices& choices, std::string_view key);

// Values of the choices as training keys have them, for those that there are: {"norm", "pre"}.
std::vector<std::pair<std::string_view, std::string_view>> default_values(
    const FreshChoices& choices);

// The first key of a request that models of this kind do not have, or have otherwise.
struct RequestFault {
  std::string_view key;
  std::string why;  // "a llama has no such choice"
};
std::optional<RequestFault> fault_of(const ModelRequest& request, const FreshChoices& choices,
                                     std::string_view model_type);

// With what was left open filled in.
ModelRequest completed(ModelRequest request, const FreshChoices& choices);

// The usual width of feed-forward layers, where the request names none: four times the width, or
// with a gate, which is a third matrix, two thirds of that, rounded up to a multiple of 8.
int64_t plain_hidden(const ModelRequest& request);
int64_t gated_hidden(const ModelRequest& request);

}  // namespace headlight::models
