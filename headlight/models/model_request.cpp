// Requests beside what architectures leave open.
#include "headlight/models/model_request.h"

#include <array>

namespace headlight::models {
namespace {

constexpr std::string_view switch_text(bool value) { return value ? "true" : "false"; }
constexpr std::string_view norm_text(bool before) { return before ? "pre" : "post"; }
constexpr std::string_view positions_text(bool learned) {
  return learned ? "learned" : "sinusoidal";
}

// A choice among values, as text: what is asked for, what there is.
struct TextChoice {
  std::string_view key;
  ChoiceKind kind;
  std::string_view value;
  std::optional<std::string_view> asked = {};
};

template <class T, class Text>
TextChoice text_choice(std::string_view key, const Choice<T>& choice, const std::optional<T>& asked,
                       const Text& text) {
  TextChoice made{key, choice.kind, text(choice.value)};
  if (asked) made.asked = text(*asked);
  return made;
}

std::array<TextChoice, 5> text_choices(const FreshChoices& choices, const ModelRequest& request) {
  return {
      text_choice("bias", choices.bias, request.bias, switch_text),
      text_choice("tie_embeddings", choices.tie_embeddings, request.tie_embeddings, switch_text),
      text_choice("norm", choices.pre_norm, request.pre_norm, norm_text),
      text_choice("positions", choices.learned_positions, request.learned_positions,
                  positions_text),
      text_choice("activation", choices.activation, request.activation,
                  [](nn::Activation activation) { return kernels::name_of(activation); })};
}

// A number that some architectures have.
struct NumberChoice {
  std::string_view key;
  bool is_there;
  bool is_asked;
};

std::array<NumberChoice, 5> number_choices(const FreshChoices& choices,
                                           const ModelRequest& request) {
  return {{{"n_kv_head", choices.n_kv_head, request.n_kv_head > 0},
           {"rope_theta", choices.rope_theta, request.rope_theta > 0},
           {"sliding_window", choices.sliding_window, request.sliding_window > 0},
           {"n_encoder_layer", choices.two_stacks, request.n_encoder_layer > 0},
           {"n_decoder_layer", choices.two_stacks, request.n_decoder_layer > 0}}};
}

template <class T>
void complete(std::optional<T>& asked, const Choice<T>& choice) {
  if (!asked && choice.kind != ChoiceKind::absent) asked = choice.value;
}

}  // namespace

bool is_open(const FreshChoices& choices, std::string_view key) {
  for (const TextChoice& choice : text_choices(choices, {})) {
    if (choice.key == key) return choice.kind == ChoiceKind::open;
  }
  for (const NumberChoice& choice : number_choices(choices, {})) {
    if (choice.key == key) return choice.is_there;
  }
  return true;
}

std::vector<std::pair<std::string_view, std::string_view>> default_values(
    const FreshChoices& choices) {
  std::vector<std::pair<std::string_view, std::string_view>> values;
  for (const TextChoice& choice : text_choices(choices, {})) {
    if (choice.kind != ChoiceKind::absent) values.emplace_back(choice.key, choice.value);
  }
  return values;
}

std::optional<RequestFault> fault_of(const ModelRequest& request, const FreshChoices& choices,
                                     std::string_view model_type) {
  const std::string model = "a " + std::string(model_type) + " model ";
  for (const TextChoice& choice : text_choices(choices, request)) {
    if (!choice.asked || choice.kind == ChoiceKind::open) continue;
    if (choice.kind == ChoiceKind::absent) {
      return RequestFault{choice.key, model + "has no such choice"};
    }
    if (*choice.asked == choice.value) continue;
    return RequestFault{choice.key, model + "always has " + std::string(choice.value)};
  }
  for (const NumberChoice& choice : number_choices(choices, request)) {
    if (choice.is_there || !choice.is_asked) continue;
    const bool is_layers = choice.key.ends_with("_layer");
    return RequestFault{choice.key,
                        model + (is_layers ? "has one stack: n_layer" : "has no such choice")};
  }
  return std::nullopt;
}

ModelRequest completed(ModelRequest request, const FreshChoices& choices) {
  complete(request.bias, choices.bias);
  complete(request.tie_embeddings, choices.tie_embeddings);
  complete(request.pre_norm, choices.pre_norm);
  complete(request.learned_positions, choices.learned_positions);
  complete(request.activation, choices.activation);
  return request;
}

int64_t plain_hidden(const ModelRequest& request) {
  return request.d_ff > 0 ? request.d_ff : 4 * request.n_embd;
}

int64_t gated_hidden(const ModelRequest& request) {
  if (request.d_ff > 0) return request.d_ff;
  const int64_t two_thirds = (8 * request.n_embd + 2) / 3;
  return (two_thirds + 7) / 8 * 8;
}

}  // namespace headlight::models
