// Running what `headlight attend` asks for: arrays as they are, a whole module, or additive
// scoring.
#pragma once

#include <memory>
#include <vector>

#include "apps/cli/attend/options.h"
#include "headlight/autograd/autograd.h"
#include "headlight/io/io.h"
#include "headlight/nn/nn.h"

namespace headlight::cli {

// The arrays, read and brought into the engine's shapes.
struct AttendInputs {
  // (B, T, C) or (B, H, T, D); those that were left out are the same Value as the one they default
  // to.
  autograd::Value query;
  autograd::Value key;
  autograd::Value value;
  int rank = 0;  // of all three as they were given; 2 is (T, C)
  // Masks, lengths, scale, bias, gates; heads where there are no weights.
  autograd::AttentionOptions call;
  tensor::Tensor grad_out;  // in the rank of the query as it was given
  std::shared_ptr<const io::Safetensors> weights;
  nn::StoredState state;  // the tensors under `prefix`, not read yet
  std::string prefix;
};

// Throws Error(bad_input) for what a file holds. Values want a gradient when options.grads is set.
AttendInputs read_attend_inputs(base::FileSystem& files, const AttendOptions& options);

struct AttendResult {
  tensor::Tensor output;                        // with the query's rank
  std::vector<io::NamedTensor> trace = {};      // when options.trace is set
  std::vector<io::NamedTensor> gradients = {};  // when options.grads is set
};

// Throws Error(bad_input) where shapes or names disagree, and Error(out_of_memory) before anything
// is computed when what would be held is more than is free.
AttendResult attend(base::FileSystem& files, base::ThreadPool& threads,
                    const AttendOptions& options, const AttendInputs& inputs);

}  // namespace headlight::cli
