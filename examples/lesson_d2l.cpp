// The lesson "d2l": five heads over inputs of ones, of which only the first 3 and 2 keys are valid.
// All keys are alike, so every weight is exactly 1/3 or 1/2.
#include <cstdio>

#include "headlight/nn/nn.h"

using namespace headlight;

namespace {

nn::Value ones(const tensor::Shape& shape) {
  const std::vector<float> values(static_cast<size_t>(shape.elements()), 1);
  return nn::Value::leaf(tensor::Tensor::of(shape, values));
}

}  // namespace

int main() {
  base::ThreadPool threads;
  tensor::Arena arena;
  autograd::Recording recording({.wants = [](auto place) { return place == "head.0.weights"; }});
  autograd::Context context{.threads = threads, .arena = arena, .observer = &recording};
  // Dropout is there, but this is not training.
  const nn::MultiHeadAttention attention({.query_width = 100,
                                          .heads = 5,
                                          .qkv_bias = false,
                                          .out_bias = false,
                                          .weight_dropout = 0.5F,
                                          .names = nn::names_of(nn::AttentionLayout::d2l)});
  nn::draw_xavier_uniform(attention.parameters(), /*seed=*/1);
  const nn::Value queries = ones({2, 4, 100});
  const nn::Value pairs = ones({2, 6, 100});
  const auto valid_lens = tensor::Tensor::of({2}, std::vector<int64_t>{3, 2});
  const nn::Value output =
      attention.forward(context, queries, pairs, pairs, {.valid_lens = valid_lens});
  // (B, T, S): of the first head the weights of the first query of each sequence.
  const tensor::Tensor& weights = recording.seen("head.0.weights");
  for (int64_t sequence = 0; sequence < weights.size(0); ++sequence) {
    std::printf("weights of sequence %lld:", static_cast<long long>(sequence));
    for (int64_t key = 0; key < weights.size(2); ++key) {
      std::printf(" %.4f", weights.data<float>()[sequence * weights.stride(0) + key]);
    }
    std::printf("\n");
  }
  std::printf("output has shape %s\n", output.shape().text().c_str());
}
