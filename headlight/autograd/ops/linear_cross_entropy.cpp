// linear_cross_entropy: logits of one chunk of rows at a time; the loss, then the gradients from
// the same memory, then the next chunk.
#include "headlight/autograd/ops/linear_cross_entropy.h"

#include <algorithm>
#include <string>

#include "headlight/autograd/checks.h"
#include "headlight/autograd/ops/loss.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::ConstMatrixView;
using tensor::DType;
using tensor::MatrixView;
using tensor::Shape;
using tensor::Tensor;

// Logits of a chunk take 128 MB at most (but one tile of rows at least): large enough that the
// weight and its gradient are not read too often, small against both in a model with many classes.
constexpr int64_t kChunkElements = int64_t{1} << 25;
constexpr int64_t kRowTile = 64;

// Even chunks, so that the last is not a sliver; by shape alone, so that the bits are fixed.
int64_t chunk_rows(int64_t rows, int64_t classes) {
  const int64_t most = std::max(kChunkElements / std::max<int64_t>(classes, 1), kRowTile);
  const int64_t chunks = std::max<int64_t>((rows + most - 1) / most, 1);
  const int64_t even = (rows + chunks - 1) / chunks;
  return std::min((even + kRowTile - 1) / kRowTile * kRowTile, rows);
}

template <class T>
tensor::Matrix<T> rows_of(const tensor::Matrix<T>& whole, int64_t first, int64_t count) {
  return {whole.data + first * whole.row_stride, count, whole.cols, whole.row_stride, 1};
}

// W, plain or packed.
struct Weight {
  ConstMatrixView plain = {};
  kernels::PackedMatrix packed = {};

  int64_t classes() const { return packed.defined() ? packed.cols() : plain.rows; }
  void multiply(const Context& context, ConstMatrixView x, MatrixView z) const {
    if (packed.defined()) {
      kernels::matmul(context.execution(), x, packed, z);
    } else {
      kernels::matmul(context.execution(), x, plain.transposed(), z);
    }
  }
};

struct Gradients {
  Tensor x;       // absent when not wanted
  Tensor weight;  // absent when not wanted
  bool any() const { return x.defined() || weight.defined(); }
};

// z = x W^T, dz = (softmax(z) - targets) / counted, per chunk:  dx = dz W;  dW += dz^T x.
void add_chunk_gradients(Context& context, ConstMatrixView dz, ConstMatrixView x,
                         ConstMatrixView weight, Gradients& gradients, int64_t first) {
  if (gradients.x.defined()) {
    kernels::matmul(context.execution(), dz, weight,
                    rows_of(gradients.x.mutable_matrix(), first, dz.rows));
  }
  if (gradients.weight.defined()) {
    kernels::matmul(context.execution(), dz.transposed(), x, gradients.weight.mutable_matrix(),
                    {.accumulate = first > 0});
  }
}

// Returns the losses of all rows; fills the gradients that are there.
Tensor run_chunks(Context& context, ConstMatrixView x, const Weight& weight,
                  const CountedTargets& counted, const kernels::CrossEntropyOptions& options,
                  Gradients& gradients) {
  Tensor losses = Tensor::uninitialized(context.arena, DType::f32, {x.rows});
  const int64_t chunk = chunk_rows(x.rows, weight.classes());
  Tensor logits = Tensor::uninitialized(context.arena, DType::f32, {chunk, weight.classes()});
  int64_t first = 0;
  do {  // once even without rows: the weight's gradient is zero then
    const int64_t count = std::min(chunk, x.rows - first);
    const MatrixView z = rows_of(logits.mutable_matrix(), 0, count);
    const ConstMatrixView rows = rows_of(x, first, count);
    weight.multiply(context, rows, z);
    kernels::cross_entropy(context.execution(), z, counted.targets.data<int64_t>() + first, options,
                           losses.mutable_data<float>() + first, counted.factor(),
                           gradients.any() ? z : MatrixView());
    add_chunk_gradients(context, z, rows, weight.plain, gradients, first);
    first += chunk;
  } while (first < x.rows);
  return losses;
}

constexpr const char* kLinearCrossEntropy = "linear_cross_entropy";

// `shape` is the weight's.
void check_chunked_product(const Value& x, const Shape& shape) {
  check_rows(kLinearCrossEntropy, "input", x.data());
  if (shape.rank() != 2 || shape[1] != x.size(-1)) {
    refuse(kLinearCrossEntropy, "weight",
           "shape is " + shape.text() + ", input rows have " + std::to_string(x.size(-1)));
  }
}

}  // namespace

Value packed_linear_cross_entropy(Context& context, const Value& x,
                                  const kernels::PackedMatrix& weight, const Tensor& targets,
                                  const kernels::CrossEntropyOptions& options) {
  check_chunked_product(x, {weight.cols(), weight.rows()});
  const CountedTargets counted(kLinearCrossEntropy, targets, x.data(), weight.cols(), options);
  Gradients none;
  return Value::leaf(counted.mean(
      context, run_chunks(context, x.data().matrix(), {.packed = weight}, counted, options, none)));
}

Value linear_cross_entropy(Context& context, const Value& x, const Value& weight,
                           const Tensor& targets, const kernels::CrossEntropyOptions& options) {
  check_rows(kLinearCrossEntropy, "weight", weight.data());
  check_chunked_product(x, weight.shape());
  const CountedTargets counted(kLinearCrossEntropy, targets, x.data(), weight.size(0), options);
  const bool record = recording(context, {&x, &weight});
  Gradients gradients;
  if (record && x.requires_grad()) {
    gradients.x = Tensor::uninitialized(context.arena, DType::f32, x.shape());
  }
  if (record && weight.requires_grad()) {
    gradients.weight = Tensor::uninitialized(context.arena, DType::f32, weight.shape());
  }
  const Tensor losses = run_chunks(context, x.data().matrix(), {.plain = weight.data().matrix()},
                                   counted, options, gradients);
  Tensor loss = counted.mean(context, losses);
  Value result = Value::leaf(loss);
  if (record) {
    auto node = std::make_unique<LossNode>();
    if (gradients.x.defined()) node->add(gradients.x, x.gradient());
    if (gradients.weight.defined()) node->add(gradients.weight, weight.gradient());
    result = context.tape->record(std::move(node), loss);
  }
  report(context, [&] {
    return Report{.operation = kLinearCrossEntropy,
                  .inputs = {{"input", x}, {"weight", weight}, {"targets", Value::leaf(targets)}},
                  .outputs = {{"output", result}},
                  .attributes = loss_attributes(options)};
  });
  return result;
}

}  // namespace headlight::autograd
