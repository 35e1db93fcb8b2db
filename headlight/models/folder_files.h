// Which files make a model folder, and what is said of a folder that has others. Inside models
// only.
#pragma once

#include <string>

#include "headlight/io/io.h"

namespace headlight::models {

inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kGenerationFile = "generation_config.json";
inline constexpr const char* kTensorFile = "model.safetensors";

// Throws Error(bad_input) with the way out unless `folder` is a folder with a config.json and
// weights that are read, and no adapter beside them that would change the numbers.
void check_model_folder(base::FileSystem& files, const std::string& folder);

// model.safetensors, or else the shards that model.safetensors.index.json names.
io::Safetensors open_weights(base::FileSystem& files, const std::string& folder);

}  // namespace headlight::models
