// Files of arrays in the command line's tests: reading all of one, and how far two arrays are
// apart.
#pragma once

#include <map>
#include <string>

#include "headlight/io/io.h"

namespace headlight::test {

constexpr double kOutputTolerance = 2e-5;    // of golden files' largest entry
constexpr double kGradientTolerance = 1e-4;  // of the largest gradient in the file

using Tensors = std::map<std::string, tensor::Tensor>;

// Everything in a .safetensors file; floats as float32.
Tensors read_tensors(const std::string& path);
// float32.
tensor::Tensor read_floats(const std::string& place);
// A .npy file of small numbers that differ; gives its path.
std::string write_numbers(const std::string& path, const tensor::Shape& shape);

// The largest magnitude.
double largest(const tensor::Tensor& array);
// The largest difference of two numbers; 0 for equal infinities, infinite for other shapes and
// where one is not a number.
double distance(const tensor::Tensor& a, const tensor::Tensor& b);

}  // namespace headlight::test
