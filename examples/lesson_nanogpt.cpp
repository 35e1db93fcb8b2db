// The lesson "nanogpt": one causal module of width 768 with 12 heads, step by step, and one fused
// projection timed against three.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "headlight/nn/nn.h"

using namespace headlight;

namespace {

constexpr int64_t kWidth = 768;

// Prints the shape of each step.
class Shapes : public autograd::Observer {
 public:
  bool wants(std::string_view place) override { return place.find("head.") == place.npos; }
  void see(std::string_view place, const tensor::Tensor& values) override {
    std::printf("%-18s%s\n", std::string(place).c_str(), values.shape().text().c_str());
  }
};

template <class Work>
double fastest_milliseconds(const Work& work) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int run = 0; run < 20; ++run) {
    const auto start = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return best;
}

}  // namespace

int main() {
  base::ThreadPool threads;
  tensor::Arena arena;
  Shapes shapes;
  autograd::Context watched{.threads = threads, .arena = arena, .observer = &shapes};
  const nn::MultiHeadAttention attention({.query_width = kWidth, .heads = 12});
  const nn::Embedding words("words", 64, kWidth);
  nn::draw_normal(attention.parameters(), /*seed=*/1, /*deviation=*/0.02F);
  nn::draw_normal(words.parameters(), /*seed=*/1, /*deviation=*/1);
  const auto sentence = tensor::Tensor::of({1, 4}, std::vector<int64_t>{0, 1, 2, 3});
  attention.forward(watched, words.forward(watched, sentence), {.causal = true});

  autograd::Context context{.threads = threads, .arena = arena};
  const nn::Value x = words.weight()->value();  // 64 rows
  const nn::Linear fused("fused", {.inputs = kWidth, .outputs = 3 * kWidth});
  const nn::Linear single("single", {.inputs = kWidth, .outputs = kWidth});
  nn::draw_normal(fused.parameters(), 1, 0.02F);
  nn::draw_normal(single.parameters(), 1, 0.02F);
  const double one = fastest_milliseconds([&] { fused.forward(context, x); });
  const double three = fastest_milliseconds([&] {
    for (int i = 0; i < 3; ++i) single.forward(context, x);
  });
  std::printf("one fused layer %.3f ms, three layers %.3f ms\n", one, three);
}
