// From the gradients that a run holds to those between them.
#include "headlight/explain/gradients.h"

#include <cstring>

namespace headlight::explain {
namespace {

using tensor::DType;
using tensor::Tensor;

std::string place_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

Tensor one_head(const Tensor& x, int64_t head) {
  return x.slice(1, head, 1).contiguous().reshaped({x.size(2), x.size(3)});
}

kernels::Activation activation_of(std::string_view function) {
  if (function == "relu") return kernels::Activation::relu;
  return function == "gelu" ? kernels::Activation::gelu : kernels::Activation::gelu_tanh;
}

}  // namespace

Tensor Gradients::at(const std::string& name) {
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  const TracedTensor* tensor = trace_.find(name);
  return known_[name] = tensor == nullptr ? Tensor() : found(*tensor);
}

Tensor Gradients::found(const TracedTensor& tensor) {
  if (tensor.name == "logits") return logits_;
  const Tensor held = recording_.gradient(tensor.name);
  if (held.defined()) return held.contiguous();
  const std::string place = place_of(tensor.name);
  switch (tensor.operation) {
    case Operation::copy:
      return at(*tensor.operand("input"));
    // The branch is used by this sum alone, so what arrives there is what arrives at the sum.
    case Operation::add:
      return at(*tensor.operand("left"));
    case Operation::split:
      return of_heads(tensor, at(*tensor.operand("input")));
    case Operation::activation:
    case Operation::linear:
      return of_hidden(tensor);
    case Operation::normalize:
      return of_normalized(place);
    case Operation::sinusoid:
    case Operation::table:
      return at(place + ".sum");
    default:
      return of_stage(tensor);
  }
}

Tensor Gradients::of_stage(const TracedTensor& tensor) {
  const std::string place = place_of(tensor.name);
  if (tensor.name == "probabilities") return {};
  switch (tensor.operation) {
    case Operation::sum_keys:
      return of_heads(tensor, at(place + ".concatenated"));
    case Operation::weigh:
      return of_weighted_values(tensor, place);
    case Operation::softmax:
      return of_weights(place);
    case Operation::mask:
    case Operation::scale:
      return of_masked_scores(place);
    case Operation::scores: {
      const Tensor scaled = of_masked_scores(place);
      if (!scaled.defined()) return {};
      tensor::Arena arena;
      const auto factor = static_cast<float>(trace_.at(place + ".scaled_scores").number("factor"));
      kernels::scale({trace_.threads(), arena}, factor, scaled.matrix(), scaled.matrix());
      return scaled;
    }
    default:
      return {};
  }
}

// (B, T, H*W) as (B, H, T, W); a head's gate multiplies what comes back through it.
Tensor Gradients::of_heads(const TracedTensor& tensor, const Tensor& merged) {
  if (!merged.defined()) return {};
  const tensor::Shape& s = tensor.shape;
  const Tensor split =
      merged.reshaped({s[0], s[2], s[1], s[3]}).permuted({0, 2, 1, 3}).contiguous();
  const TracedTensor* gates = trace_.find(place_of(tensor.name) + ".head_gates");
  if (tensor.operation != Operation::sum_keys || gates == nullptr) return split;
  tensor::Arena arena;
  for (int64_t h = 0; h < s[1]; ++h) {
    const double gate = trace_.value(
        *gates, gates->shape.rank() == 1 ? std::vector<int64_t>{h} : std::vector<int64_t>{0, h});
    const tensor::MatrixView head = split.slice(1, h, 1).matrix();
    kernels::scale({trace_.threads(), arena}, static_cast<float>(gate), head, head);
  }
  return split;
}

// O = sum of a_ij v_j, so each of them gets the row's gradient.
Tensor Gradients::of_weighted_values(const TracedTensor& tensor, const std::string& place) {
  const Tensor output = at(place + ".head_output");
  if (!output.defined()) return {};
  const Tensor result = Tensor::uninitialized(DType::f32, tensor.shape);
  const int64_t keys = tensor.shape[3];
  const int64_t width = tensor.shape[4];
  for (int64_t i = 0; i < result.elements() / width; ++i) {
    std::memcpy(result.data<float>() + i * width, output.data<float>() + i / keys * width,
                static_cast<size_t>(width) * sizeof(float));
  }
  return result;
}

// O = A V:  dA = dO V^T, zero where the mask hides.
Tensor Gradients::of_weights(const std::string& place) {
  const Tensor output = at(place + ".head_output");
  if (!output.defined()) return {};
  const TracedTensor& weights = trace_.at(place + ".weights");
  const Tensor value = trace_.values(place + ".value");
  const Tensor result = Tensor::uninitialized(DType::f32, weights.shape);
  const int64_t group = weights.shape[1] / value.size(1);
  tensor::Arena arena;
  for (int64_t h = 0; h < weights.shape[1]; ++h) {
    kernels::matmul({trace_.threads(), arena}, one_head(output, h).matrix(),
                    one_head(value, h / group).matrix().transposed(),
                    result.slice(1, h, 1).matrix());
  }
  return result;
}

// A = softmax(S):  dS = A * (dA - sum of A dA).
Tensor Gradients::of_masked_scores(const std::string& place) {
  const Tensor weights = at(place + ".weights");
  if (!weights.defined()) return {};
  const Tensor result = Tensor::zeros(DType::f32, weights.shape());
  tensor::Arena arena;
  kernels::softmax_backward({trace_.threads(), arena}, trace_.values(place + ".weights").matrix(),
                            weights.matrix(), result.matrix());
  return result;
}

// y = n * weight + bias:  dn = dy * weight.
Tensor Gradients::of_normalized(const std::string& place) {
  const Tensor output = at(place + ".output");
  if (!output.defined()) return {};
  const Tensor weight = trace_.values(*trace_.at(place + ".output").operand("weight"));
  const Tensor result = Tensor::uninitialized(DType::f32, output.shape());
  for (int64_t i = 0; i < result.elements(); ++i) {
    result.data<float>()[i] = output.data<float>()[i] * weight.data<float>()[i % weight.elements()];
  }
  return result;
}

// Before an activation, of which the run holds what arrives after it.
Tensor Gradients::of_hidden(const TracedTensor& tensor) {
  const std::string after = place_of(tensor.name) + ".activated";
  if (tensor.operation != Operation::linear || trace_.find(after) == nullptr) return {};
  const Tensor arrived = at(after);
  if (!arrived.defined()) return {};
  const Tensor hidden = trace_.values(tensor.name);
  const Tensor result = Tensor::uninitialized(DType::f32, hidden.shape());
  tensor::Arena arena;
  kernels::activation_backward(
      {trace_.threads(), arena}, activation_of(trace_.at(after).word("function")),
      hidden.data<float>(), arrived.data<float>(), result.data<float>(), hidden.elements());
  return result;
}

}  // namespace headlight::explain
