// PyTorch's checkpoints (.bin, .pt, .pth): names with tensors, as torch.save() writes state dicts.
#pragma once

#include <memory>

#include "headlight/io/stored_tensors.h"

namespace headlight::io {

// Reads the archive that PyTorch writes since 1.6, or the file of pickles from before. The pickle
// in it is read as data: tensors, dictionaries, lists, tuples, numbers and texts; any other name in
// it is refused, and nothing is run. The tensors are those of the dictionary, or of the one under
// its key "state_dict", "model" or "model_state_dict" where just one of these is a dictionary of
// tensors. Numbers stay in the file until they are loaded; one storage may serve several tensors,
// and tensors need not be contiguous.
StoredTensors open_checkpoint(std::shared_ptr<const base::Input> input);

// Whether the ending is one that checkpoints have.
bool is_checkpoint_path(std::string_view path);

}  // namespace headlight::io
