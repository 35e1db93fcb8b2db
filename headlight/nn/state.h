// StateDict: tensors by name, as files hold them; into parameters and out of them.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "headlight/nn/parameter.h"

namespace headlight::nn {

using StateDict = std::map<std::string, tensor::Tensor>;

// A prefix of names, with a '.' added when it ends with neither '.' nor '/'; nothing stays nothing.
std::string name_prefix(const std::string& prefix);

// Gives each parameter the tensor of its name; float16 and bfloat16 are widened. All or nothing:
// when tensors are missing, of another shape or not numbers of a float type, or when there are
// tensors that no parameter has and `ignored` does not let pass, one Error lists the first five of
// each kind and counts them. Without `ignored` all others are let pass. Tensors are not copied
// where they are float32 already. `where` is for the error, e.g. a path.
using IgnoredNames = std::function<bool(const std::string& name, const tensor::Tensor& tensor)>;
void load_state(const Parameters& parameters, const StateDict& state,
                const IgnoredNames& ignored = {}, const std::string& where = "tensors");

// Whether a tensor is a mask that a PyTorch module saved as a buffer: "mask", "masked_bias", or a
// "bias" of shape (1, 1, T, T).
bool is_mask_buffer(const std::string& name, const tensor::Tensor& tensor);

// The numbers of the parameters under their names; handles, not copies.
StateDict save_state(const Parameters& parameters);

}  // namespace headlight::nn
