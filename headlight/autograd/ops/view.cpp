// split, slice and reshape: no arithmetic, no nodes.
#include "headlight/autograd/ops/view.h"

#include <numeric>
#include <string>

#include "headlight/autograd/checks.h"

namespace headlight::autograd {

using tensor::Tensor;

std::vector<Value> split(const Value& x, const std::vector<int64_t>& widths) {
  if (!x.defined() || x.rank() == 0) refuse("split", "input", "has no axis to split");
  const int64_t total = std::accumulate(widths.begin(), widths.end(), int64_t{0});
  if (total != x.size(-1)) {
    refuse("split", "widths",
           "add up to " + std::to_string(total) + ", the last axis of " + x.shape().text() +
               " has " + std::to_string(x.size(-1)));
  }
  std::vector<Value> pieces;
  int64_t begin = 0;
  for (const int64_t width : widths) {
    pieces.push_back(slice(x, -1, begin, width));
    begin += width;
  }
  return pieces;
}

Value slice(const Value& x, int axis, int64_t begin, int64_t count) {
  return x.viewed(
      [axis, begin, count](const Tensor& whole) { return whole.slice(axis, begin, count); });
}

Value reshape(const Value& x, const tensor::Shape& shape) {
  return x.viewed([shape](const Tensor& whole) { return whole.reshaped(shape); });
}

}  // namespace headlight::autograd
