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

// Prints the scores, the weights and the weighted values of the first input.
class FirstRow : public autograd::Observer {
 public:
  bool wants(std::string_view place) override {
    return place == "scores" || place == "weights" || place == "weighted_values";
  }
  void see(std::string_view place, const tensor::Tensor& values) override {
    const int64_t shown = place == "weighted_values" ? 9 : 3;  // three vectors of three
    std::printf("%-16s", std::string(place).c_str());
    for (int64_t i = 0; i < shown; ++i) {
      std::printf("%s%.4f", i == 0 ? "" : i % 3 == 0 ? " | " : "  ", values.data<float>()[i]);
    }
    std::printf("\n");
  }
};

}  // namespace

int main() {
  base::ThreadPool threads;
  tensor::Arena arena;
  FirstRow first_row;
  autograd::Context context{.threads = threads, .arena = arena, .observer = &first_row};
  const auto x = matrix({1, 3, 4}, {1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1});
  const auto w_query = matrix({4, 3}, {1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1});
  const auto w_key = matrix({4, 3}, {0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0});
  const auto w_value = matrix({4, 3}, {0, 2, 0, 0, 3, 0, 1, 0, 3, 1, 1, 0});

  const autograd::LinearOptions in_out{.layout = autograd::WeightLayout::in_out};
  const auto query = autograd::linear(context, x, w_query, {}, in_out);
  const auto key = autograd::linear(context, x, w_key, {}, in_out);
  const auto value = autograd::linear(context, x, w_value, {}, in_out);
  const auto output = autograd::attention(context, query, key, value, {.scale = 1.0F});
  const float* row = output.data().data<float>();
  std::printf("%-16s%.4f  %.4f  %.4f\n", "output", row[0], row[1], row[2]);
}
