// Arrays of the command line's tests.
#include "tests/cli/arrays.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::test {

using tensor::DType;
using tensor::Tensor;

Tensors read_tensors(const std::string& path) {
  const io::Safetensors file = io::open_safetensors(base::real_files(), path);
  Tensors tensors;
  for (const io::Safetensors::Entry& entry : file.entries()) {
    const Tensor array = file.load(entry);
    const bool is_float = array.dtype() == DType::f16 || array.dtype() == DType::bf16;
    tensors[entry.name] = is_float ? io::as_float32(array) : array;
  }
  return tensors;
}

Tensor read_floats(const std::string& place) {
  return io::as_float32(io::read_array(base::real_files(), place));
}

std::string write_numbers(const std::string& path, const tensor::Shape& shape) {
  Tensor array = Tensor::uninitialized(DType::f32, shape);
  for (int64_t i = 0; i < array.elements(); ++i) {
    array.mutable_data<float>()[i] = std::sin(static_cast<float>(i + shape.rank()));
  }
  io::write_array(base::real_files(), path, array);
  return path;
}

double largest(const Tensor& array) {
  double most = 0;
  for (int64_t i = 0; i < array.elements(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(array.data<float>()[i])));
  }
  return most;
}

double distance(const Tensor& a, const Tensor& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.shape() != b.shape()) return kInfinity;
  double most = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.data<float>()[i];
    const double y = b.data<float>()[i];
    if (x == y) continue;
    const double difference = std::abs(x - y);
    most = std::isnan(difference) ? kInfinity : std::max(most, difference);
  }
  return most;
}

}  // namespace headlight::test
