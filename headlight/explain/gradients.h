// Gradients: those of a recorded backward pass, at every tensor of a trace. Inside explain only.
#pragma once

#include <map>
#include <string>

#include "headlight/explain/trace.h"

namespace headlight::explain {

// The engine gathers gradients where its operations meet; inside of them (scores, weights,
// normalized rows, numbers before an activation) they are computed here, by its kernels, from the
// nearest one that it has.
class Gradients {
 public:
  // `logits` is the gradient of the logits, which no run holds as a whole.
  Gradients(const Trace& trace, const Recording& recording, tensor::Tensor logits)
      : trace_(trace), recording_(recording), logits_(std::move(logits)) {}

  // Of the tensor's shape; not defined where there is none.
  tensor::Tensor at(const std::string& name);

 private:
  tensor::Tensor found(const TracedTensor& tensor);
  tensor::Tensor of_stage(const TracedTensor& tensor);
  tensor::Tensor of_weights(const std::string& place);
  tensor::Tensor of_weighted_values(const TracedTensor& tensor, const std::string& place);
  tensor::Tensor of_masked_scores(const std::string& place);
  tensor::Tensor of_normalized(const std::string& place);
  tensor::Tensor of_hidden(const TracedTensor& tensor);
  tensor::Tensor of_heads(const TracedTensor& tensor, const tensor::Tensor& merged);

  const Trace& trace_;
  const Recording& recording_;
  tensor::Tensor logits_;
  std::map<std::string, tensor::Tensor> known_;
};

}  // namespace headlight::explain
