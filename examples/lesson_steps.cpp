// The lesson "steps": one head on three inputs, with the tutorial's own numbers. It divides scores
// by k_d = 1, so the scale is 1.
#include <cstdio>
#include <string>

#include "headlight/autograd/autograd.h"

using namespace headlight;

namespace {

autograd::Value matrix(const tensor::Shape& shape, const std::vector<float>& values) {
  return autograd::Value::leaf(tensor::Tensor::of(shape, values));
}

// The first `count` numbers of what the run showed at a place, in threes.
void print_first(const autograd::Recording& recording, const char* place, int64_t count) {
  std::printf("%-16s", place);
  for (int64_t i = 0; i < count; ++i) {
    const float number = recording.seen(place).data<float>()[i];
    std::printf("%s%.4f", i == 0 ? "" : i % 3 == 0 ? " | " : "  ", number);
  }
  std::printf("\n");
}

}  // namespace

int main() {
  base::ThreadPool threads;
  tensor::Arena arena;
  autograd::Recording recording({.wants = [](std::string_view) { return true; }});
  autograd::Context context{.threads = threads, .arena = arena, .observer = &recording};
  const auto x = matrix({1, 3, 4}, {1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1});
  const auto w_query = matrix({4, 3}, {1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1});
  const auto w_key = matrix({4, 3}, {0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0});
  const auto w_value = matrix({4, 3}, {0, 2, 0, 0, 3, 0, 1, 0, 3, 1, 1, 0});

  const autograd::LinearOptions in_out{.layout = autograd::WeightLayout::in_out};
  const auto query = autograd::linear(context, x, w_query, {}, in_out);
  const auto key = autograd::linear(context, x, w_key, {}, in_out);
  const auto value = autograd::linear(context, x, w_value, {}, in_out);
  const auto output = autograd::attention(context, query, key, value, {.scale = 1.0F});
  print_first(recording, "scores", 3);
  print_first(recording, "weights", 3);
  print_first(recording, "weighted_values", 9);  // three vectors of three
  const float* row = output.data().data<float>();
  std::printf("%-16s%.4f  %.4f  %.4f\n", "output", row[0], row[1], row[2]);
}
