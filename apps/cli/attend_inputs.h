// The arrays of `headlight attend`, read and brought into the engine's shapes.
#pragma once

#include "apps/cli/attend_options.h"
#include "headlight/autograd/autograd.h"
#include "headlight/base/base.h"
#include "headlight/nn/nn.h"

namespace headlight::cli {

struct AttendInputs {
  // (B, T, C) or (B, H, T, D); those that were left out are the same Value as the one they default
  // to.
  autograd::Value query;
  autograd::Value key;
  autograd::Value value;
  int rank = 0;  // of all three as they were given; 2 is (T, C)
  autograd::AttentionOptions
      call;                 // masks, lengths, scale, bias, gates; heads where there are no weights
  tensor::Tensor grad_out;  // in the rank of the query as it was given
  nn::StateDict state;      // the tensors under `prefix`
  std::string prefix;
};

// Throws Error(bad_input) for what a file holds. Values want a gradient when options.grads is set.
AttendInputs read_attend_inputs(base::FileSystem& files, const AttendOptions& options);

}  // namespace headlight::cli
