// The lesson "from-scratch": widths that cannot be divided, the mask of length 4, and what softmax
// does to scores that are not scaled.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "headlight/nn/nn.h"

using namespace headlight;

namespace {

autograd::Value drawn(const tensor::Shape& shape, const std::string& name) {
  const nn::Parameters one = {std::make_shared<nn::Parameter>(name, shape)};
  nn::draw_normal(one, /*seed=*/1, /*deviation=*/1);
  return one.front()->value();
}

}  // namespace

int main() {
  base::ThreadPool threads;
  tensor::Arena arena;
  autograd::Recording recording({.wants = [](auto place) { return place == "weights"; }});
  autograd::Context context{.threads = threads, .arena = arena, .observer = &recording};

  try {
    nn::MultiHeadAttention({.query_width = 512, .heads = 5});
  } catch (const base::Error& error) {
    std::printf("%s\n", error.what());
  }

  const auto x = drawn({1, 4, 8}, "x");
  autograd::attention(context, x, x, x, {.causal = true});
  std::printf("weights behind the mask of length 4:\n");
  for (int64_t i = 0; i < 16; ++i) {
    std::printf("  %.4f%s", recording.seen("weights").data<float>()[i], i % 4 == 3 ? "\n" : "");
  }

  const auto query = drawn({1, 1, 512}, "query");
  const auto keys = drawn({1, 8, 512}, "keys");
  float largest[2];
  for (const bool scaled : {false, true}) {
    autograd::attention(context, query, keys, keys,
                        {.scale = scaled ? 1 / std::sqrt(512.0F) : 1.0F});
    const float* row = recording.seen("weights").data<float>();
    largest[scaled] = *std::max_element(row, row + 8);
    std::printf("largest weight %s the scale: %.4f\n", scaled ? "with" : "without",
                largest[scaled]);
  }
  return largest[0] > 2 * largest[1] ? 0 : 1;
}
