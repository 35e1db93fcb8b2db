// Multi-head self-attention in twenty lines: four words, eight numbers each, two heads, causal.
#include <cstdio>

#include "headlight/nn/nn.h"

int main() {
  using namespace headlight;
  base::ThreadPool threads;
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};

  const nn::Embedding words("words", 4, 8);
  const nn::MultiHeadAttention attention({.query_width = 8, .heads = 2});
  nn::draw_normal(words.parameters(), /*seed=*/1, /*deviation=*/1);
  nn::draw_xavier_uniform(attention.parameters(), /*seed=*/1);

  const auto sentence = tensor::Tensor::of({1, 4}, std::vector<int64_t>{2, 0, 3, 1});
  const nn::Value x = words.forward(context, sentence);
  const nn::Value y = attention.forward(context, x, {.causal = true});

  for (int64_t word = 0; word < y.size(1); ++word) {
    for (int64_t i = 0; i < y.size(2); ++i) {
      std::printf("%8.4f", y.data().data<float>()[word * y.size(2) + i]);
    }
    std::printf("\n");
  }
}
