// What operations demand of their inputs; each throws Error(bad_input) with the operation, the
// input and the numbers. Inside autograd only.
#pragma once

#include <string>
#include <string_view>

#include "headlight/autograd/value.h"
#include "headlight/base/base.h"

namespace headlight::autograd {

using base::refuse;

// There and of this type.
void check_type(std::string_view operation, std::string_view input, const tensor::Tensor& x,
                tensor::DType dtype);
// There, float32 and readable as rows of adjacent numbers (Tensor::matrix).
void check_rows(std::string_view operation, std::string_view input, const tensor::Tensor& x);
// There, float32, contiguous and of shape [size]; `expected` ends the message, e.g. "input rows
// have 512".
void check_vector(std::string_view operation, std::string_view input, const tensor::Tensor& x,
                  int64_t size, const std::string& expected);
// There and int64; returns it contiguous.
tensor::Tensor checked_integers(std::string_view operation, std::string_view input,
                                const tensor::Tensor& x);
// The same of one number for each sequence, (batch,).
tensor::Tensor checked_per_sequence(std::string_view operation, std::string_view input,
                                    const tensor::Tensor& given, int64_t batch);
// All of them from `lowest` to `highest`.
void check_range(std::string_view operation, std::string_view input, const tensor::Tensor& numbers,
                 int64_t lowest, int64_t highest);
// Positions are sums of numbers that are given and of row numbers; up to here they cannot overflow.
constexpr int64_t kFarthest = int64_t{1} << 60;
void check_same_shape(std::string_view operation, std::string_view input, const tensor::Tensor& x,
                      std::string_view other, const tensor::Tensor& y);
// 0 <= probability < 1.
void check_probability(std::string_view operation, float probability);

// Whether Tensor::matrix may be called.
bool is_matrix(const tensor::Tensor& x);

}  // namespace headlight::autograd
