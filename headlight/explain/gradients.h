// Gradients: those of a recorded backward pass, at every tensor of a trace. Inside explain only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "headlight/explain/cell_terms.h"
#include "headlight/explain/operation.h"
#include "headlight/explain/trace.h"

namespace headlight::explain {

// The engine gathers gradients where its operations meet; inside of them (scores, weights,
// normalized rows, numbers before an activation) they follow from those of the tensors that were
// made of them, by the operations' own rules.
class Gradients {
 public:
  // `held`: values of the run with the engine's gradients, by the names of the trace. `logits` is
  // the gradient of the logits, which no run holds as a whole.
  Gradients(const Trace& trace, std::map<std::string, autograd::Value> held, tensor::Tensor logits);

  // Of the tensor's shape; not defined where there is none.
  tensor::Tensor at(const std::string& name);
  // One term for each position (and each use) at which a parameter's cell enters; they add up to
  // its gradient.
  std::vector<Term> weight_terms(const CellReference& weight);

 private:
  tensor::Tensor held(const TracedTensor& tensor) const;
  tensor::Tensor found(const TracedTensor& tensor);
  tensor::Tensor from_uses(const TracedTensor& tensor);

  const Trace& trace_;
  std::map<std::string, autograd::Value> held_;
  std::map<std::string, tensor::Tensor> known_;
  // The tensors of the run, without variants, that were made of a tensor; with its role there.
  struct Use {
    const TracedTensor* made;
    std::string_view role;
  };
  std::map<std::string, std::vector<Use>, std::less<>> uses_;
};

}  // namespace headlight::explain
