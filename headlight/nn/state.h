// Tensors by name, as files hold them: into parameters and out of them.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "headlight/nn/parameter.h"

namespace headlight::nn {

using StateDict = std::map<std::string, tensor::Tensor>;

// A tensor of which dtype and shape are known before its numbers are read: what the header of a
// file says. load() gives the numbers.
struct StoredTensor {
  tensor::DType dtype = tensor::DType::f32;
  tensor::Shape shape = {};
  std::function<tensor::Tensor()> load = {};
  // Writes `count` rows of the first axis, from `begin` on; not for every tensor. Like load() it
  // may be called by several threads.
  std::function<void(int64_t begin, int64_t count, std::byte* to)> load_rows = {};
};
using StoredState = std::map<std::string, StoredTensor>;
// Tensors in memory; handles, not copies.
StoredState stored(const StateDict& state);

// A prefix of names, with a '.' added when it ends with neither '.' nor '/'; nothing stays nothing.
std::string name_prefix(const std::string& prefix);

// Whether a dtype holds weights: float32, float16 or bfloat16.
bool is_weight_type(tensor::DType dtype);

// What may be in a state though no parameter has its name.
using IgnoredNames = std::function<bool(const std::string& name, const StoredTensor& tensor)>;

// Whether each parameter has a tensor of its name, shape and a float type, and whether there are
// tensors that no parameter has and `ignored` does not let pass; one Error lists the first five of
// each kind and counts them. Without `ignored` all others are let pass. No numbers are read.
// `where` is for the error, e.g. a path.
void check_state(const Parameters& parameters, const StoredState& state,
                 const IgnoredNames& ignored = {}, const std::string& where = "tensors");

// How numbers become those of parameters.
struct LoadOptions {
  base::ThreadPool* threads = nullptr;  // that read; without, the caller's
  // Matrices that layers run packed are packed as they are read, float16 and bfloat16 as such,
  // which saves a pass over all memory where a model is only run. (Who asks for their value() later
  // pays for unpacking them.)
  bool packed = false;
};

// What the numbers of parameters will take, for which check_state() has found nothing.
uint64_t loaded_bytes(const Parameters& parameters, const StoredState& state,
                      const LoadOptions& options);

// Gives each parameter the tensor of its name once all of them fit (check_state); float16 and
// bfloat16 are widened, float32 in memory is not copied. Of several errors the first counts.
void load_state(const Parameters& parameters, const StoredState& state,
                const IgnoredNames& ignored = {}, const std::string& where = "tensors",
                const LoadOptions& options = {});
void load_state(const Parameters& parameters, const StateDict& state,
                const IgnoredNames& ignored = {}, const std::string& where = "tensors");

// Whether a tensor is a mask that a PyTorch module saved as a buffer: a "mask" of shape (..., T, T)
// with nothing but ones before, a "masked_bias" of one number, or a "bias" of shape (1, 1, T, T).
bool is_mask_buffer(const std::string& name, const StoredTensor& tensor);

// For a module under `prefix` (see name_prefix) in a larger state: all that is outside of the
// prefix, and under it mask buffers and arrays called as inputs are ("x", "query", "grad_out").
IgnoredNames beside_module(const std::string& prefix);

// The numbers of the parameters under their names; handles, not copies.
StateDict save_state(const Parameters& parameters);

}  // namespace headlight::nn
