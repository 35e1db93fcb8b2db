// A transformer block once more, in doubles and plain loops, one sequence at a time: what the tests
// of TransformerBlock compare with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "headlight/nn/nn.h"

namespace headlight::nn {

struct Matrix {
  Matrix() = default;
  Matrix(int64_t row_count, int64_t column_count)
      : rows(row_count), columns(column_count), numbers(static_cast<size_t>(rows * columns)) {}
  double& at(int64_t i, int64_t j) { return numbers[static_cast<size_t>(i * columns + j)]; }
  double at(int64_t i, int64_t j) const { return numbers[static_cast<size_t>(i * columns + j)]; }

  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<double> numbers;
};

// Numbers of parameters by name.
using PlainState = std::map<std::string, std::vector<double>>;
PlainState plain_state(const Parameters& parameters);

// The residual stream after the block. `memory` is what cross-attention looks at. Weights are (out,
// in).
Matrix plain_block(const TransformerBlockOptions& options, const PlainState& state, const Matrix& x,
                   const Matrix& memory = {});

// A norm of the block's kind, e.g. the one after all layers.
Matrix plain_norm(const TransformerBlockOptions& options, const PlainState& state,
                  const std::string& name, const Matrix& x);

}  // namespace headlight::nn
