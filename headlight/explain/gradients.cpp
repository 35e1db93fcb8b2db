// From the gradients that a run holds to those between them.
#include "headlight/explain/gradients.h"

#include <utility>

#include "headlight/explain/tensor_index.h"

namespace headlight::explain {

using tensor::Tensor;

Gradients::Gradients(const Trace& trace, std::map<std::string, autograd::Value> held, Tensor logits)
    : trace_(trace), held_(std::move(held)) {
  known_["logits"] = std::move(logits);
  for (const TracedTensor& tensor : trace.tensors()) {
    if (!tensor.variant.empty()) continue;
    for (const Operand& operand : tensor.operands) {
      uses_[operand.name].push_back({&tensor, operand.role});
    }
  }
}

Tensor Gradients::at(const std::string& name) {
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  const TracedTensor* tensor = trace_.find(name);
  const Tensor gradient = tensor == nullptr ? Tensor() : found(*tensor);
  return known_[name] = gradient;
}

Tensor Gradients::held(const TracedTensor& tensor) const {
  const auto value = held_.find(tensor.name);
  const Tensor gradient = value == held_.end() ? Tensor() : value->second.grad();
  return gradient.defined() ? gradient.contiguous().reshaped(tensor.shape) : gradient;
}

Tensor Gradients::found(const TracedTensor& tensor) {
  if (const Tensor gradient = held(tensor); gradient.defined()) return gradient;
  const Operation& operation = tensor.description();
  if (operation.moved != nullptr) {
    const std::string& first = tensor.operands.front().name;
    const Tensor gradient = uses_[first].size() == 1 ? held(trace_.at(first)) : Tensor();
    const Tensor own = gradient.defined() ? operation.moved(gradient, tensor) : Tensor();
    if (own.defined()) return own;
  }
  return from_uses(tensor);
}

Tensor Gradients::from_uses(const TracedTensor& tensor) {
  Tensor sum;
  const auto uses = uses_.find(tensor.name);
  if (uses == uses_.end()) return sum;
  for (const Use& use : uses->second) {
    const auto rule = use.made->description().gradient;
    const Tensor gradient = rule == nullptr ? Tensor() : at(use.made->name);
    if (!gradient.defined()) continue;
    const Tensor part = rule({trace_, *use.made, tensor, use.role, gradient});
    if (!part.defined()) continue;
    if (!sum.defined()) {
      sum = part;
      continue;
    }
    Tensor both = Tensor::uninitialized(tensor::DType::f32, tensor.shape);
    for (int64_t i = 0; i < both.elements(); ++i) {
      both.mutable_data<float>()[i] = sum.data<float>()[i] + part.data<float>()[i];
    }
    sum = both;
  }
  return sum;
}

std::vector<Term> Gradients::weight_terms(const CellReference& weight) {
  std::vector<Term> terms;
  for (const Use& use : uses_[weight.name]) {
    const auto rule = use.made->description().uses;
    const Tensor gradient = rule == nullptr ? Tensor() : at(use.made->name);
    if (!gradient.defined()) continue;
    for (const CellUse& cell : rule(trace_, *use.made, use.role, weight.index)) {
      Term term{.key = cell.key, .value = cell.constant, .constant = cell.constant};
      if (cell.other_role) {
        const TracedTensor& other = trace_.at(*use.made->operand(*cell.other_role));
        term.factors.push_back(
            {{other.name, cell.other_index}, trace_.value(other, cell.other_index)});
      }
      term.factors.push_back(
          {{"gradient." + use.made->name, cell.result}, number_at(gradient, cell.result)});
      for (const Factor& factor : term.factors) term.value *= factor.value;
      term.running = term.value + (terms.empty() ? 0 : terms.back().running);
      terms.push_back(std::move(term));
    }
  }
  return terms;
}

}  // namespace headlight::explain
