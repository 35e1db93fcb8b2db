// Model folders: config.json and weights, read and written as Hugging Face's tools do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headlight/models/model.h"
#include "headlight/models/registry.h"

namespace headlight::models {

// Reads a model of any architecture of the registry. `place` is a folder, with its weights in
// model.safetensors, in the shards of model.safetensors.index.json, or the same of
// pytorch_model.bin; or a PyTorch checkpoint (.bin, .pt) with a config.json beside it; or a GGUF
// file, which says all itself. The weights are float32, float16 or bfloat16, in GGUF files also
// quantised. A copy of a tied tensor that has numbers of its own counts as what it is, and the
// model is not tied; where it cannot be, the folder is refused. Throws Error(bad_input) with the
// file and the key or tensors at fault, from configuration and headers alone, and
// Error(out_of_memory) when the weights do not fit into what is free; both before anything large is
// read or allocated. `notes`, when given, gets a line for what a user should know of how the folder
// was read. `packed`, as nn::LoadOptions has it: for a model that is only run.
// `threads` read the numbers; 0: one for each core.
std::unique_ptr<Model> load_model(base::FileSystem& files, const std::string& place,
                                  const Registry& registry = known_architectures(),
                                  std::vector<std::string>* notes = nullptr, bool packed = false,
                                  int threads = 0);

// What is known of a model, a place as load_model() takes it, from configuration and headers.
struct Prospect {
  Capabilities can;
  uint64_t running_bytes = 0;  // its weights, where it is only run
};
// Throws as load_model() does.
Prospect prospect_of(base::FileSystem& files, const std::string& place,
                     const Registry& registry = known_architectures());

// What a model's weights take as they are kept.
uint64_t held_bytes(const Model& model);

// What a folder's generation_config.json, or else its config.json, says of writing. (Its special
// ids are read by load_model; whether tokens are chosen greedily or by chance is the caller's to
// say.)
struct GenerationSettings {
  float repetition_penalty = 1;
};
// Throws Error(bad_input) for a setting that forbids, forces, counts or weighs tokens in another
// way: other programs follow it, here nothing does.
GenerationSettings read_generation_settings(base::FileSystem& files, const std::string& folder);
// The same for who follows none of them.
void check_generation_settings(base::FileSystem& files, const std::string& folder);

// All tensors of a file by name, read one by one when Model::load_state asks for them. The file
// must outlive it.
nn::StoredState stored_state(const io::StoredTensors& tensors);
nn::StoredState stored_state(io::StoredTensors&&) = delete;
// All tensors of a file, read at once.
nn::StateDict read_state(const io::StoredTensors& tensors);
// model.safetensors, as transformers expects it. With float16 or bfloat16 as `kind`, tensors whose
// numbers all are such are written so; nothing is ever rounded.
void write_state(base::FileSystem& files, const std::string& path, const Model& model,
                 tensor::DType kind = tensor::DType::f32);
// Writes model.safetensors, then config.json; the folder must be there.
void save_model(base::FileSystem& files, const std::string& folder, const Model& model,
                tensor::DType kind = tensor::DType::f32);
// What most of the numbers of a model, a place as load_model() takes it, are stored as: float32,
// float16 or bfloat16.
tensor::DType stored_kind(base::FileSystem& files, const std::string& place);

}  // namespace headlight::models
