// Which files make a model folder, and what is said of a folder that has others. Inside models
// only.
#pragma once

#include <string>

#include "headlight/io/io.h"

namespace headlight::models {

inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kGenerationFile = "generation_config.json";
inline constexpr const char* kTensorFile = "model.safetensors";

// Where a model's configuration and weights are.
struct ModelFiles {
  std::string folder;   // of config.json; a GGUF file is its own
  std::string weights;  // what io::open_tensors() opens
};

// `place` is a folder, a GGUF file, or a PyTorch checkpoint with its config.json beside it. Of the
// weights in a folder the first counts of model.safetensors, its shards, pytorch_model.bin and its
// shards. Throws Error(bad_input) with the way out unless there are a config.json and weights that
// are read, and no adapter beside them that would change the numbers.
ModelFiles find_model_files(base::FileSystem& files, const std::string& place);

}  // namespace headlight::models
