// Tensors of a GGUF file under the names that they have in a folder. Inside models only.
#pragma once

#include <string_view>

#include "headlight/io/io.h"
#include "headlight/nn/nn.h"

namespace headlight::models {

// Names of a folder of this model_type; what has none there keeps its own, to be told as
// unexpected, and factors of rates are left out.
io::StoredTensors gguf_tensors(const io::Gguf& file, std::string_view model_type);

// llama.cpp stores some tensors otherwise: rows of Llama's queries and keys in the order of its
// rotation, GPT-NeoX's projections one after the other, Gemma's norms with 1 added, GPT-2's weights
// transposed. Makes each of these load as a folder has it. `config` is as gguf_config() gives it.
void undo_gguf_changes(const io::Json& config, nn::StoredState& state);

}  // namespace headlight::models
