// The reference of a linear layer with its activation: gradients by differences, and the matrix
// kernels put together in the same way.
#include <gtest/gtest.h>

#include "headlight/kernels/kernels.h"
#include "headlight/kernels/reference/linear.h"
#include "tests/kernels/rows.h"

namespace headlight::kernels {
namespace {

using namespace tests;

struct LinearCase {
  explicit LinearCase(uint64_t n) {
    const base::Random random(n);
    const auto size = [&](uint64_t index) {
      return 1 + static_cast<int64_t>(random.below(index, 6));
    };
    shape = {size(0), size(1), size(2)};
    activation = static_cast<Activation>(n % 4);
    x = random_floats(shape.rows * shape.inputs, 4 * n);
    weight = random_floats(shape.inputs * shape.outputs, 4 * n + 1);
    bias = random_floats(shape.outputs, 4 * n + 2);
    dy = random_floats(shape.rows * shape.outputs, 4 * n + 3);
    before.resize(dy.size());
    y.resize(dy.size());
  }
  double loss() {
    reference::linear_forward(shape, activation, x.data(), weight.data(), bias.data(),
                              before.data(), y.data());
    return dot(y, dy);
  }

  reference::LinearShape shape;
  Activation activation;
  std::vector<double> x, weight, bias, dy, before, y;
};

TEST(LinearReference, has_the_gradients_of_its_differences) {
  for (uint64_t n = 0; n < 400; ++n) {
    LinearCase given(n);
    given.loss();
    std::vector<double> dx(given.x.size()), dweight(given.weight.size()), dbias(given.bias.size());
    reference::linear_backward(given.shape, given.activation, given.x.data(), given.weight.data(),
                               given.before.data(), given.dy.data(), dx.data(), dweight.data(),
                               dbias.data());
    const auto by_differences = [&](std::vector<double> LinearCase::*input) {
      return differences(
          [&](const std::vector<double>& at) {
            LinearCase changed = given;
            changed.*input = at;
            return changed.loss();
          },
          given.*input);
    };
    expect_close(dx, by_differences(&LinearCase::x), 1e-6);
    expect_close(dweight, by_differences(&LinearCase::weight), 1e-6);
    expect_close(dbias, by_differences(&LinearCase::bias), 1e-6);
  }
}

}  // namespace
}  // namespace headlight::kernels
