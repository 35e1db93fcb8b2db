// A weight's gradient is a sum over the places where it was used.
#include "headlight/explain/weight_terms.h"

#include <utility>

namespace headlight::explain {
namespace {

using tensor::Tensor;
using Index = std::vector<int64_t>;

class WeightTerms {
 public:
  WeightTerms(const Trace& trace, const CellReference& weight, Gradients& gradients)
      : trace_(trace), weight_(weight), gradients_(gradients) {}

  std::vector<Term> made() {
    for (const TracedTensor& tensor : trace_.tensors()) {
      if (!tensor.variant.empty()) continue;
      for (const Operand& operand : tensor.operands) {
        if (operand.name == weight_.name) add_use(tensor, operand.role);
      }
    }
    return std::move(terms_);
  }

 private:
  void add_use(const TracedTensor& made, const std::string& role) {
    const Tensor gradient = gradients_.at(made.name);
    if (!gradient.defined()) return;
    for (int64_t t = 0; t < made.shape[1]; ++t) {
      if (made.operation == Operation::linear) add_linear(made, role, gradient, t);
      if (made.operation == Operation::scale_shift) add_norm(made, role, gradient, t);
      if (made.operation == Operation::table) add_row(made, gradient, t);
    }
  }

  // Y = X W + b:  dW[i, o] = sum over positions of X[t, i] dY[t, o];  db[o] = sum of dY[t, o].
  void add_linear(const TracedTensor& made, const std::string& role, const Tensor& gradient,
                  int64_t t) {
    const bool out_in = made.word("layout") == "out_in";
    const bool is_bias = role == "bias";
    const int64_t begin =
        static_cast<int64_t>(made.number(is_bias ? "bias_begin" : "weight_begin"));
    const int64_t output =
        (is_bias || out_in ? weight_.index.front() : weight_.index.back()) - begin;
    if (output < 0 || output >= made.shape[-1]) return;
    if (is_bias) return add("bias", {arrived(made, gradient, {0, t, output})});
    const TracedTensor& input = trace_.at(*made.operand("input"));
    const Index from = {0, t, out_in ? weight_.index.back() : weight_.index.front()};
    add("product",
        {{{input.name, from}, trace_.value(input, from)}, arrived(made, gradient, {0, t, output})});
  }

  // y = n * weight + bias:  dweight[c] = sum of n[t, c] dy[t, c];  dbias[c] = sum of dy[t, c].
  void add_norm(const TracedTensor& made, const std::string& role, const Tensor& gradient,
                int64_t t) {
    const Index at = {0, t, weight_.index.front()};
    if (role == "bias") return add("bias", {arrived(made, gradient, at)});
    const TracedTensor& input = trace_.at(*made.operand("input"));
    add("product", {{{input.name, at}, trace_.value(input, at)}, arrived(made, gradient, at)});
  }

  // A row of a table, each time that its id stands in the text.
  void add_row(const TracedTensor& made, const Tensor& gradient, int64_t t) {
    const std::string* ids = made.operand("ids");
    const auto row = static_cast<int64_t>(
        (ids == nullptr ? static_cast<double>(t) : trace_.value(trace_.at(*ids), {0, t})) +
        made.number("start"));
    if (row != weight_.index.front()) return;
    add("value", {arrived(made, gradient, {0, t, weight_.index.back()})}, made.number("scale", 1));
  }

  static Factor arrived(const TracedTensor& made, const Tensor& gradient, const Index& at) {
    const double value = gradient.data<float>()[at[1] * made.shape[-1] + at[2]];
    return {{"gradient." + made.name, at}, value};
  }

  void add(const char* key, std::vector<Factor> factors, double constant = 1) {
    double value = constant;
    for (const Factor& factor : factors) value *= factor.value;
    const double before = terms_.empty() ? 0 : terms_.back().running;
    terms_.push_back({key, std::move(factors), value, before + value, constant});
  }

  const Trace& trace_;
  const CellReference& weight_;
  Gradients& gradients_;
  std::vector<Term> terms_;
};

}  // namespace

std::vector<Term> weight_terms(const Trace& trace, const CellReference& weight,
                               Gradients& gradients) {
  return WeightTerms(trace, weight, gradients).made();
}

}  // namespace headlight::explain
