// What the tests of autograd stand on: a pool, an arena, a tape and a Context over them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headlight/autograd/autograd.h"

namespace headlight::tests {

class Autograd : public testing::Test {
 protected:
  autograd::Context recording_context() {
    return {.threads = threads_, .arena = arena_, .tape = &tape_};
  }
  autograd::Context inference_context() { return {.threads = threads_, .arena = arena_}; }

  base::ThreadPool threads_{2};
  tensor::Arena arena_;
  autograd::Tape tape_;
};

inline autograd::Value leaf(const tensor::Shape& shape, const std::vector<float>& numbers,
                            bool requires_grad = true) {
  return autograd::Value::leaf(tensor::Tensor::of(shape, numbers), requires_grad);
}

// Normal numbers that depend on the seed alone.
inline autograd::Value random_leaf(const tensor::Shape& shape, uint64_t seed,
                                   bool requires_grad = true) {
  const base::Random random(seed);
  std::vector<float> numbers(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = random.normal(i);
  return leaf(shape, numbers, requires_grad);
}

inline std::vector<float> floats(const tensor::Tensor& x) {
  const tensor::Tensor whole = x.contiguous();
  return {whole.data<float>(), whole.data<float>() + whole.elements()};
}

// The message of the Error that f throws; "" when it throws none.
template <class F>
std::string error_of(const F& f, base::ErrorKind kind = base::ErrorKind::bad_input) {
  try {
    f();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "";
}

}  // namespace headlight::tests
