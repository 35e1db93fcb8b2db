// Embedding: a table for the operation.
#include "headlight/nn/embedding.h"

namespace headlight::nn {

Embedding::Embedding(const std::string& name, int64_t rows, int64_t width)
    : weight_(std::make_shared<Parameter>(name + ".weight", tensor::Shape{rows, width})) {}

Value Embedding::forward(Context& context, const tensor::Tensor& ids, float scale) const {
  // A table that a tied output layer keeps packed is not unpacked for a few rows.
  if (context.tape == nullptr && context.observer == nullptr) {
    return autograd::copied_embedding(
        context, ids, weight_->shape(),
        [&](std::span<const int64_t> rows, float* to) { weight_->copy_rows(rows, to); }, scale);
  }
  return autograd::embedding(context, ids, weight_->value(), scale);
}

}  // namespace headlight::nn
