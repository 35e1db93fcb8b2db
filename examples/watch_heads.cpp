// Watches the heads at work: an Observer that asks for the weights of each head and prints them.
// The run itself is the same with and without it.
#include <cstdio>
#include <string>

#include "headlight/nn/nn.h"

using namespace headlight;

namespace {

class HeadPrinter : public autograd::Observer {
 public:
  // Asked for every place; only what is wanted is computed.
  bool wants(std::string_view place) override {
    return place.starts_with("encoder.0.self.head.") && place.ends_with(".weights");
  }
  // (B, T, S): how much each of T words looks at each of S.
  void see(std::string_view place, const tensor::Tensor& weights) override {
    std::printf("%s\n", std::string(place).c_str());
    const float* weight = weights.data<float>();
    for (int64_t i = 0; i < weights.size(1); ++i) {
      for (int64_t j = 0; j < weights.size(2); ++j) std::printf("  %.3f", *weight++);
      std::printf("\n");
    }
  }
};

}  // namespace

int main() {
  base::ThreadPool threads;
  tensor::Arena arena;
  HeadPrinter printer;
  autograd::Context context{.threads = threads, .arena = arena, .observer = &printer};

  const nn::Embedding words("words", 5, 12);
  const nn::MultiHeadAttention attention(
      {.query_width = 12, .heads = 3, .place = "encoder.0.self"});
  nn::draw_normal(words.parameters(), /*seed=*/1, /*deviation=*/1);
  nn::draw_xavier_uniform(attention.parameters(), /*seed=*/1);
  const auto sentence = tensor::Tensor::of({1, 5}, std::vector<int64_t>{0, 1, 2, 3, 4});
  attention.forward(context, words.forward(context, sentence));
  std::printf("%lld scores were computed again to show this\n",
              static_cast<long long>(context.statistics.scores_reconstructed));
}
