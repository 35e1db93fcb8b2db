// Model folders: config.json and model.safetensors, read and written as Hugging Face's tools do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headlight/models/model.h"
#include "headlight/models/registry.h"

namespace headlight::models {

// Reads a folder of any architecture of the registry; weights in model.safetensors or in the shards
// of model.safetensors.index.json, as float32, float16 or bfloat16. Throws Error(bad_input) with
// the file and the key or tensors at fault, and Error(out_of_memory) before anything large is
// allocated when the weights do not fit into what is free.
std::unique_ptr<Model> load_model(base::FileSystem& files, const std::string& folder,
                                  const Registry& registry = known_architectures());

// All tensors of a file by name, for Model::load_state.
nn::StateDict read_state(const io::Safetensors& tensors);
// model.safetensors, as transformers expects it.
void write_state(base::FileSystem& files, const std::string& path, const Model& model);
// Writes model.safetensors, then config.json; the folder must be there.
void save_model(base::FileSystem& files, const std::string& folder, const Model& model);

}  // namespace headlight::models
