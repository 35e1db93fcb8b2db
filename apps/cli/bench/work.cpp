// Random numbers of the right shapes, and calls of the kernels on them.
#include "apps/cli/bench/work.h"

#include <algorithm>
#include <cmath>

namespace headlight::cli {
namespace {

using kernels::Execution;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

Tensor random_numbers(const Execution& execution, const Shape& shape, uint64_t key) {
  constexpr int64_t kChunk = 1 << 16;
  Tensor numbers = Tensor::uninitialized(execution.arena, DType::f32, shape);
  const base::Random random(key);
  const int64_t count = numbers.elements();
  execution.threads.parallel_for((count + kChunk - 1) / kChunk, [&](int64_t chunk, int) {
    for (int64_t i = chunk * kChunk; i < std::min(count, (chunk + 1) * kChunk); ++i) {
      numbers.mutable_data<float>()[i] = random.uniform(static_cast<uint64_t>(i)) - 0.5F;
    }
  });
  return numbers;
}

struct ProductSize {
  int64_t rows;
  int64_t depth;
  int64_t cols;
};

WorkCase product(const std::string& kind, const ProductSize& size, bool packed) {
  const auto make = [=](const Execution& execution, uint64_t seed) {
    const Tensor a = random_numbers(execution, {size.rows, size.depth}, seed);
    const Tensor b = random_numbers(execution, {size.depth, size.cols}, seed + 1);
    Tensor c = Tensor::zeros(execution.arena, DType::f32, {size.rows, size.cols});
    const kernels::PackedMatrix panels =
        packed ? kernels::PackedMatrix(execution, b.matrix()) : kernels::PackedMatrix();
    return Work{.operations = 2.0 * static_cast<double>(size.rows * size.depth * size.cols),
                .run = [=]() mutable {
                  if (packed) {
                    kernels::matmul(execution, a.matrix(), panels, c.mutable_matrix());
                  } else {
                    kernels::matmul(execution, a.matrix(), b.matrix(), c.mutable_matrix());
                  }
                }};
  };
  return {kind + "-" + std::to_string(size.rows) + "x" + std::to_string(size.depth) + "x" +
              std::to_string(size.cols),
          make};
}

struct AttentionSize {
  int64_t batch;
  int64_t tokens;
  int64_t width;
  int64_t heads;
};

// Tensors of one self-attention problem, forward and backward.
class AttentionWork {
 public:
  AttentionWork(const Execution& execution, const AttentionSize& size, bool causal, bool backward,
                uint64_t seed)
      : execution_(execution), heads_(size.heads) {
    const Shape shape{size.batch, size.tokens, size.width};
    for (uint64_t i = 0; i < kInputs; ++i) {
      inputs_[i] = random_numbers(execution, shape, seed + i);
      if (backward) gradients_[i] = Tensor::zeros(execution.arena, DType::f32, shape);
    }
    if (backward) d_output_ = random_numbers(execution, shape, seed + kInputs);
    output_ = Tensor::zeros(execution.arena, DType::f32, shape);
    row_max_ = Tensor::zeros(execution.arena, DType::f32, {size.batch, size.heads, size.tokens});
    row_sum_ = Tensor::zeros(execution.arena, DType::f32, row_max_.shape());
    const int64_t head_width = size.width / size.heads;
    problem_.shape = {size.batch,  size.heads, size.heads, size.tokens,
                      size.tokens, head_width, head_width};
    problem_.query = inputs_[0].heads(heads_);
    problem_.key = inputs_[1].heads(heads_);
    problem_.value = inputs_[2].heads(heads_);
    problem_.scale = 1 / std::sqrt(static_cast<float>(head_width));
    problem_.mask.causal = causal;
  }

  void run() {
    kernels::AttentionOutputs outputs;
    outputs.output = output_.mutable_heads(heads_);
    outputs.row_max = row_max_.mutable_data<float>();
    outputs.row_sum = row_sum_.mutable_data<float>();
    kernels::attention_forward(execution_, problem_, outputs);
    if (!d_output_.defined()) return;
    kernels::AttentionGradients gradients;
    gradients.query = gradients_[0].mutable_heads(heads_);
    gradients.key = gradients_[1].mutable_heads(heads_);
    gradients.value = gradients_[2].mutable_heads(heads_);
    kernels::attention_backward(execution_, problem_, outputs, d_output_.heads(heads_), gradients);
  }

 private:
  static constexpr size_t kInputs = 3;  // query, key, value
  Execution execution_;
  int64_t heads_;
  Tensor inputs_[kInputs];
  Tensor gradients_[kInputs];
  Tensor output_, row_max_, row_sum_, d_output_;
  kernels::AttentionProblem problem_;
};

WorkCase attention(const AttentionSize& size, bool causal, bool backward = false) {
  // Scores and weighted sums: two products of 2 * T * T * width per sequence.
  const double square = 4.0 * static_cast<double>(size.batch * size.tokens * size.tokens) *
                        static_cast<double>(size.width);
  const double operations = square * (causal ? 0.5 : 1.0) * (backward ? 3 : 1);
  const auto make = [=](const Execution& execution, uint64_t seed) {
    const auto work = std::make_shared<AttentionWork>(execution, size, causal, backward, seed);
    return Work{.operations = operations, .run = [work] { work->run(); }};
  };
  std::string name = backward ? "attention-forward-backward" : "attention";
  name += causal ? "-causal" : "-full";
  const char* separator = "-";
  for (const int64_t number : {size.batch, size.tokens, size.width, size.heads}) {
    name.append(separator).append(std::to_string(number));
    separator = "x";
  }
  return {name, make};
}

}  // namespace

double median_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const size_t middle = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
}

std::vector<WorkCase> bench_cases() {
  constexpr AttentionSize kUsual = {4, 1024, 768, 12};
  constexpr AttentionSize kLong = {1, 4096, 768, 12};
  std::vector<WorkCase> cases = {product("matmul", {1024, 768, 2304}, false),
                                 product("matmul", {4096, 768, 768}, false),
                                 product("matmul-packed", {1024, 768, 2304}, true),
                                 product("matmul-packed", {16, 768, 2304}, true),
                                 product("matmul-packed", {1, 768, 3072}, true),
                                 attention(kUsual, true),
                                 attention(kUsual, false),
                                 attention(kLong, true),
                                 attention(kLong, false),
                                 attention({8, 128, 512, 8}, true),
                                 attention({64, 32, 128, 4}, true),
                                 attention(kUsual, true, true)};
  for (WorkCase& entry : model_cases()) cases.push_back(std::move(entry));
  return cases;
}

}  // namespace headlight::cli
