// Tensor by tensor, in the order of the run.
#include "headlight/explain/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "headlight/explain/cell.h"
#include "headlight/explain/tensor_index.h"

namespace headlight::explain {
namespace {

using tensor::Tensor;

constexpr int kMostComparedAxes = 4;  // weighted values have more

double difference_of(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double difference = std::fabs(a - b);
  return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

// Both of one shape.
TensorDifference compared(const Trace& trace, const TracedTensor& tensor, const Tensor& ours,
                          const Tensor& theirs) {
  const Tensor a = tensor::to_float32(ours);
  const Tensor b = tensor::to_float32(theirs);
  TensorDifference found{.name = tensor.name};
  double size = 0;
  int64_t place = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.data<float>()[i];
    const double y = b.data<float>()[i];
    if (std::isfinite(x)) size = std::max(size, std::fabs(x));
    const double difference = difference_of(x, y);
    if (difference <= found.largest && i > 0) continue;
    found.largest = difference;
    found.a = x;
    found.b = y;
    place = i;
  }
  found.relative = found.largest == 0 ? 0 : found.largest / std::max(size, 1e-30);
  found.at = cell_text(trace, {tensor.name, index_at(tensor.shape, place)});
  return found;
}

bool is_compared(const TracedTensor& tensor) {
  return tensor.variant.empty() && tensor.shape.rank() <= kMostComparedAxes &&
         tensor.shape.elements() > 0;
}

std::vector<int64_t> sizes_in(const tensor::Shape& shape) {
  return {shape.sizes().begin(), shape.sizes().end()};
}

// `other` gives the other run's tensor of a name; not defined where it has none.
Comparison compare(const Trace& a, const std::function<Tensor(const TracedTensor&)>& other,
                   const std::function<void()>& go_on) {
  Comparison result;
  for (const TracedTensor& tensor : a.tensors()) {
    if (go_on) go_on();
    if (!is_compared(tensor)) continue;
    const Tensor theirs = other(tensor);
    if (!theirs.defined()) {
      result.only_a.push_back(tensor.name);
    } else if (theirs.shape() != tensor.shape) {
      result.other_shapes.push_back(
          {tensor.name, sizes_in(tensor.shape), sizes_in(theirs.shape())});
    } else {
      result.tensors.push_back(compared(a, tensor, a.values(tensor.name), theirs));
    }
  }
  return result;
}

// With the axis of a batch of one, where that is what is missing.
Tensor as_traced(const TracedTensor& tensor, const Tensor& loaded) {
  const bool lacks_batch = loaded.rank() + 1 == tensor.shape.rank() && tensor.shape[0] == 1;
  return lacks_batch && loaded.elements() == tensor.shape.elements() ? loaded.reshaped(tensor.shape)
                                                                     : loaded;
}

}  // namespace

int64_t Comparison::equal_count() const {
  return std::ranges::count(tensors, 0.0, &TensorDifference::largest);
}

const TensorDifference* Comparison::first_beyond(double tolerance) const {
  const auto found = std::ranges::find_if(
      tensors, [&](const TensorDifference& one) { return one.largest > tolerance; });
  return found == tensors.end() ? nullptr : &*found;
}

Comparison compare_traces(const Trace& a, const Trace& b, const std::function<void()>& go_on) {
  const auto other = [&](const TracedTensor& tensor) {
    const TracedTensor* theirs = b.find(tensor.name);
    if (theirs == nullptr || !is_compared(*theirs)) return Tensor();
    // Values of another shape need not be computed.
    if (theirs->shape != tensor.shape) return Tensor::zeros(tensor::DType::boolean, theirs->shape);
    return b.values(tensor.name);
  };
  Comparison result = compare(a, other, go_on);
  for (const TracedTensor& tensor : b.tensors()) {
    if (is_compared(tensor) && a.find(tensor.name) == nullptr) {
      result.only_b.push_back(tensor.name);
    }
  }
  return result;
}

Comparison compare_with_file(const Trace& a, const io::Safetensors& file,
                             const std::function<void()>& go_on) {
  const auto other = [&](const TracedTensor& tensor) {
    const io::Safetensors::Entry* entry = file.find(tensor.name);
    if (entry == nullptr) return Tensor();
    return as_traced(tensor, file.load(*entry).contiguous());
  };
  Comparison result = compare(a, other, go_on);
  for (const io::Safetensors::Entry& entry : file.entries()) {
    const TracedTensor* known = a.find(entry.name);
    if (known == nullptr) result.only_b.push_back(entry.name);
  }
  return result;
}

}  // namespace headlight::explain
