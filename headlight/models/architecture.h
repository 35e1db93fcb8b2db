// Architecture: what is known of a kind of models before one is made. The file of each kind defines
// one, and registry.cpp lists them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "headlight/models/model.h"

namespace headlight::models {

// What a fresh model is to be, in the words of training keys. An architecture takes from it what it
// has a choice in; a GPT, for one, always has its norms before.
struct ModelRequest {
  int64_t vocab_size = 0;
  int64_t n_layer = 0;
  int64_t n_encoder_layer = 0;  // 0: n_layer
  int64_t n_decoder_layer = 0;  // 0: n_layer
  int64_t n_head = 0;
  int64_t n_embd = 0;
  int64_t d_ff = 0;        // 0: 4 * n_embd
  int64_t block_size = 0;  // most ids of a sequence
  float dropout = 0;
  bool bias = true;
  bool tie_embeddings = true;
  bool pre_norm = true;
  bool learned_positions = true;
  nn::Activation activation = nn::Activation::gelu;
  SpecialIds special_ids = {};
};

// A model that could be made: its size in numbers, and making it. Its parameters have no numbers
// yet; load_state() or draw() gives them.
struct ModelPlan {
  int64_t parameters = 0;   // in all parameters
  int64_t tables = 0;       // computed when it is made, e.g. sinusoidal positions
  int64_t activations = 0;  // what a training step holds at least for each token of its batch
  std::function<std::unique_ptr<Model>()> make;
  // The plan in which one of the model's tied copies (Model::tied_copies) has numbers of its own;
  // null, or a plan that makes nothing: there is none.
  std::function<ModelPlan(const std::string& copy)> untied = {};
};

struct Architecture {
  std::string_view model_type;     // of a folder's config.json; outlives the architecture
  Capabilities capabilities = {};  // of its models at best; a folder may hold less
  // A folder's model, from its configuration (`path` is for errors) and from what the headers of
  // the tensors show where the configuration leaves it open; no numbers are read. Throws
  // Error(bad_input) with the key at fault.
  ModelPlan (*read)(const io::Json& config, const std::string& path,
                    const io::Safetensors& tensors) = nullptr;
  // Today's name of a tensor that a folder holds under an earlier one; null: names are as they are.
  std::string (*modern_name)(const std::string& name) = nullptr;
  // A model to be trained from scratch; null: there is none. Sizes are at least 1 and heads divide
  // the width: Registry::plan has checked.
  ModelPlan (*fresh)(const ModelRequest& request) = nullptr;
};

}  // namespace headlight::models
