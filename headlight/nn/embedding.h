// Embedding: one learned row for each id.
#pragma once

#include "headlight/nn/parameter.h"

namespace headlight::nn {

// Parameter "<name>.weight", (rows, width).
class Embedding {
 public:
  Embedding(const std::string& name, int64_t rows, int64_t width);
  Parameters parameters() const { return {weight_}; }
  const ParameterHandle& weight() const noexcept { return weight_; }  // for a tied output layer

  // ids are i64 of any shape, 0 <= id < rows; the result is (ids..., width), times `scale`.
  Value forward(Context& context, const tensor::Tensor& ids, float scale = 1) const;

 private:
  ParameterHandle weight_;
};

}  // namespace headlight::nn
