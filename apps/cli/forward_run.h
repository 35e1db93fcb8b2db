// One run of a model on the user's ids: logits, loss, gradients, intermediates.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {

struct ForwardOptions {
  std::string ids;
  std::optional<std::string> source_ids;
  std::optional<std::string> source_lens;
  std::optional<std::string> logits;
  std::optional<std::string> targets;
  std::optional<std::string> grads;
  std::optional<std::string> trace;
  std::set<std::string> only;
  std::vector<recipes::HeadName> heads_off;

  // Where nothing else is asked for, logits are what the command is for.
  bool prints_logits() const { return !logits && !targets && !trace; }
};

struct ForwardInputs {
  models::Batch batch;
  bool is_one = false;  // ids were (T,): a batch of one
};

struct ForwardResult {
  tensor::Tensor logits;      // where asked for; with the ids' rank and V more
  std::optional<float> loss;  // with targets
  std::vector<io::NamedTensor> trace;
  std::vector<io::NamedTensor> gradients;
};

// Ids, lengths and targets; whole numbers of any type. Throws Error(bad_input).
ForwardInputs read_forward_inputs(base::FileSystem& files, const ForwardOptions& options);
ForwardResult run_forward(base::ThreadPool& threads, const ForwardOptions& options,
                          const ForwardInputs& inputs, models::Model& model);

}  // namespace headlight::cli
