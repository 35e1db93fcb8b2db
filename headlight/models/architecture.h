// Architecture: what is known of a kind of models before one is made. The file of each kind defines
// one, and registry.cpp lists them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "headlight/models/model_request.h"

namespace headlight::models {

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
  // the tensors show where the configuration leaves it open. Throws
  // Error(bad_input) with the key at fault.
  ModelPlan (*read)(const io::Json& config, const std::string& path,
                    const io::StoredTensors& tensors) = nullptr;
  // Today's name of a tensor that a folder holds under an earlier one; null: names are as they are.
  std::string (*modern_name)(const std::string& name) = nullptr;
  // A model to be trained from scratch; null: there is none. Registry::plan has checked the
  // request: sizes are at least 1, heads divide the width, key and value heads divide heads,
  // nothing is asked that `choices` does not have, and every choice that there is has a value.
  ModelPlan (*fresh)(const ModelRequest& request) = nullptr;
  FreshChoices choices = {};
};

}  // namespace headlight::models
