// Embedding: a table for the operation.
#include "headlight/nn/embedding.h"

namespace headlight::nn {

Embedding::Embedding(const std::string& name, int64_t rows, int64_t width)
    : weight_(std::make_shared<Parameter>(name + ".weight", tensor::Shape{rows, width})) {}

Value Embedding::forward(Context& context, const tensor::Tensor& ids, float scale) const {
  return autograd::embedding(context, ids, weight_->value(), scale);
}

}  // namespace headlight::nn
