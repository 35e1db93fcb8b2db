// Rows, weights and scales of recorded steps.
#include "headlight/heads/linear_steps.h"

#include <algorithm>
#include <cmath>

namespace headlight::heads {
namespace {

using autograd::Recording;
using tensor::Tensor;

// The rows of `part` are counted from `begin` in a wider tensor: where row `row` lies there.
int64_t row_in_whole(const Tensor& part, const Tensor& whole, const std::vector<int64_t>& begin,
                     int64_t row) {
  int64_t result = 0;
  int64_t rows = 1;  // in one step of the axis
  for (int axis = part.rank() - 2; axis >= 0; --axis) {
    result += (row % part.size(axis) + begin[static_cast<size_t>(axis)]) * rows;
    row /= part.size(axis);
    rows *= whole.size(axis);
  }
  return result;
}

}  // namespace

std::vector<double> row_of(const Tensor& values, int64_t row) {
  const tensor::ConstMatrixView matrix = values.matrix();
  std::vector<double> numbers(static_cast<size_t>(matrix.cols));
  for (int64_t i = 0; i < matrix.cols; ++i) numbers[static_cast<size_t>(i)] = matrix.at(row, i);
  return numbers;
}

tensor::ConstMatrixView weight_of(const Recording::Step& step) {
  const auto layout = step.word("layout") == "out_in" ? autograd::WeightLayout::out_in
                                                      : autograd::WeightLayout::in_out;
  return autograd::forward_operand(step.input("weight")->value.data(), layout);
}

bool is_norm(const Recording::Step& step) {
  const std::string_view operation = step.report.operation;
  return operation == "layer_norm" || operation == "residual_norm" || operation == "rms_norm" ||
         operation == "residual_rms_norm";
}

bool is_centered_norm(const Recording::Step& step) {
  return !step.report.operation.ends_with("rms_norm");
}

double norm_scale(const Recording::Step& step, std::span<const double> numbers) {
  const auto width = static_cast<double>(numbers.size());
  const bool is_centered = is_centered_norm(step);
  double mean = 0;
  for (const double number : numbers) mean += is_centered ? number : 0;
  mean /= width;
  double square = 0;
  for (const double number : numbers) square += (number - mean) * (number - mean);
  return 1 / std::sqrt(square / width + step.number("epsilon"));
}

std::vector<RowStretch> stretches_of(const Recording::Source& source, const Tensor& whole,
                                     const Tensor& value, int64_t row, int64_t count) {
  const int64_t width = whole.size(-1);
  int64_t at = row * count;
  if (!source.is_whole()) {
    at = row_in_whole(value, whole, source.begin, row) * width + source.begin.back();
  }
  std::vector<RowStretch> stretches;
  for (int64_t done = 0; done < count;) {
    const int64_t column = (at + done) % width;
    const int64_t here = std::min(width - column, count - done);
    stretches.push_back({(at + done) / width, column, here});
    done += here;
  }
  return stretches;
}

}  // namespace headlight::heads
