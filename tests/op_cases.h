// The list of operations. It drives the tests of their results and of their gradients
// (tests/autograd/op_cases_test.cpp) and the micro-benchmark: a new operation is one line here.
#pragma once

#include "tests/op_cases/attention.h"
#include "tests/op_cases/elementwise.h"
#include "tests/op_cases/gated_product.h"
#include "tests/op_cases/linear.h"
#include "tests/op_cases/losses.h"
#include "tests/op_cases/mean_rows.h"
#include "tests/op_cases/rms_norm.h"
#include "tests/op_cases/rotate.h"
#include "tests/op_cases/rows.h"
#include "tests/op_cases/take_heads.h"

namespace headlight::tests {

inline const std::vector<Op>& op_cases() {
  static const std::vector<Op> ops = {
      {"add", 120, draw_add},
      {"additive_attention", 250, draw_additive_attention},
      {"attention", 600, draw_attention},
      {"cross_entropy", 150, draw_cross_entropy},
      {"dropout", 100, draw_dropout},
      {"embedding", 100, draw_embedding},
      {"gated_product", 150, draw_gated_product},
      {"layer_norm", 150, draw_layer_norm},
      {"linear", 300, draw_linear},
      {"linear_cross_entropy", 150, draw_linear_cross_entropy},
      {"log_softmax", 100, draw_log_softmax},
      {"mean_rows", 100, draw_mean_rows},
      {"residual_norm", 150, draw_residual_norm},
      {"residual_rms_norm", 150, draw_residual_rms_norm},
      {"rms_norm", 150, draw_rms_norm},
      {"rotate", 150, draw_rotate},
      {"scale", 60, draw_scale},
      {"softmax", 100, draw_softmax},
      {"take_heads", 60, draw_take_heads},
  };
  return ops;
}

}  // namespace headlight::tests
