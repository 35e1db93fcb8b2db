// A stranger's program: attention of two tokens over themselves, with what was installed and
// nothing else.
#include <cstdio>

#include "headlight/kernels/kernels.h"

int main() {
  using namespace headlight;
  base::ThreadPool threads(2);
  tensor::Arena arena;
  const tensor::Tensor tokens = tensor::Tensor::of({1, 2, 4}, {1.f, 0, 0, 0, 0, 1, 0, 0});
  tensor::Tensor output = tensor::Tensor::zeros(tensor::DType::f32, {1, 2, 4});
  tensor::Tensor rows = tensor::Tensor::zeros(tensor::DType::f32, {2, 1, 1, 2});
  const tensor::ConstHeadsView heads = tokens.heads(1);
  const kernels::AttentionProblem problem{.shape = {1, 1, 1, 2, 2, 4, 4},
                                          .query = heads,
                                          .key = heads,
                                          .value = heads,
                                          .cached = {},
                                          .scale = 0,
                                          .mask = {},
                                          .dropout = {}};
  kernels::attention_forward(
      {threads, arena}, problem,
      {output.mutable_heads(1), {}, rows.mutable_data<float>(), rows.mutable_data<float>() + 2});
  // A scale of zero makes all weights equal, so each token is the mean of both.
  const float* result = output.data<float>();
  std::printf("%s %g %g\n", kernels::simd_target().c_str(), result[0], result[1]);
  return result[0] == 0.5f && result[1] == 0.5f && result[2] == 0.0f ? 0 : 1;
}
