// What walks over a recording read of a step that is linear or is taken as linear. Inside heads
// only.
#pragma once

#include <span>
#include <vector>

#include "headlight/models/models.h"

namespace headlight::heads {

std::vector<double> row_of(const tensor::Tensor& values, int64_t row);

// Of an affine layer: (inputs, outputs).
tensor::ConstMatrixView weight_of(const autograd::Recording::Step& step);

bool is_norm(const autograd::Recording::Step& step);
bool is_centered_norm(const autograd::Recording::Step& step);
// 1 / deviation, or 1 / root, of what a norm normalises together; computed from the run's numbers
// again, in doubles.
double norm_scale(const autograd::Recording::Step& step, std::span<const double> numbers);

// A part of a row.
struct RowStretch {
  int64_t row = 0;
  int64_t column = 0;
  int64_t count = 0;
};
// Where the `count` numbers of row `row` of `value` lie in `whole`, their source, which may have
// another shape over the same numbers: a row is spread over several of its rows or is a stretch of
// one.
std::vector<RowStretch> stretches_of(const autograd::Recording::Source& source,
                                     const tensor::Tensor& whole, const tensor::Tensor& value,
                                     int64_t row, int64_t count);

}  // namespace headlight::heads
