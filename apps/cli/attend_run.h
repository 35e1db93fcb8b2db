// Running what `headlight attend` asks for: arrays as they are, a whole module, or additive
// scoring.
#pragma once

#include <vector>

#include "apps/cli/attend_inputs.h"
#include "headlight/io/io.h"

namespace headlight::cli {

struct AttendResult {
  tensor::Tensor output;                        // with the query's rank
  std::vector<io::NamedTensor> trace = {};      // when options.trace is set
  std::vector<io::NamedTensor> gradients = {};  // when options.grads is set
};

// Throws Error(bad_input) where shapes disagree.
AttendResult attend(base::ThreadPool& threads, const AttendOptions& options,
                    const AttendInputs& inputs);

}  // namespace headlight::cli
