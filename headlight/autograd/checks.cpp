// Checks of shapes and types, with the numbers in the message.
#include "headlight/autograd/checks.h"

namespace headlight::autograd {

void check_type(std::string_view operation, std::string_view input, const tensor::Tensor& x,
                tensor::DType dtype) {
  if (!x.defined()) refuse(operation, input, "is missing");
  if (x.dtype() == dtype) return;
  refuse(operation, input,
         std::string("is ") + name_of(x.dtype()) + ", " + name_of(dtype) + " is needed");
}

bool is_matrix(const tensor::Tensor& x) {
  if (x.rank() == 0 || x.elements() == 0) return x.rank() > 0;
  if (x.stride(-1) != 1 && x.size(-1) > 1) return false;
  int64_t expected = 0;  // the stride the next longer axis must have; 0: any
  for (int axis = x.rank() - 2; axis >= 0; --axis) {
    if (x.size(axis) == 1) continue;
    if (expected != 0 && x.stride(axis) != expected) return false;
    expected = x.stride(axis) * x.size(axis);
  }
  return true;
}

void check_rows(std::string_view operation, std::string_view input, const tensor::Tensor& x) {
  check_type(operation, input, x, tensor::DType::f32);
  if (x.rank() == 0) refuse(operation, input, "is a single number, rows are needed");
  if (!is_matrix(x)) {
    refuse(operation, input, "shape " + x.shape().text() + " is not stored row after row");
  }
}

void check_vector(std::string_view operation, std::string_view input, const tensor::Tensor& x,
                  int64_t size, const std::string& expected) {
  check_type(operation, input, x, tensor::DType::f32);
  if (x.shape() != tensor::Shape{size} || !x.is_contiguous()) {
    refuse(operation, input, "shape is " + x.shape().text() + ", " + expected);
  }
}

tensor::Tensor checked_integers(std::string_view operation, std::string_view input,
                                const tensor::Tensor& x) {
  check_type(operation, input, x, tensor::DType::i64);
  return x.contiguous();
}

void check_range(std::string_view operation, std::string_view input, const tensor::Tensor& numbers,
                 int64_t lowest, int64_t highest) {
  const int64_t* values = numbers.data<int64_t>();
  for (int64_t i = 0; i < numbers.elements(); ++i) {
    if (values[i] >= lowest && values[i] <= highest) continue;
    refuse(operation, input,
           std::to_string(values[i]) + " at position " + std::to_string(i) + " is not within " +
               std::to_string(lowest) + " and " + std::to_string(highest));
  }
}

tensor::Tensor checked_per_sequence(std::string_view operation, std::string_view input,
                                    const tensor::Tensor& given, int64_t batch) {
  const tensor::Tensor numbers = checked_integers(operation, input, given);
  if (numbers.shape() != tensor::Shape{batch}) {
    refuse(
        operation, input,
        "shape is " + numbers.shape().text() + ", " + tensor::Shape{batch}.text() + " is needed");
  }
  return numbers;
}

void check_same_shape(std::string_view operation, std::string_view input, const tensor::Tensor& x,
                      std::string_view other, const tensor::Tensor& y) {
  if (x.shape() == y.shape()) return;
  refuse(operation, input,
         "shape is " + x.shape().text() + ", " + std::string(other) + " is " + y.shape().text());
}

void check_probability(std::string_view operation, float probability) {
  if (probability >= 0 && probability < 1) return;
  refuse(operation, "probability",
         "is " + std::to_string(probability) + ", it must be at least 0 and below 1");
}

}  // namespace headlight::autograd
