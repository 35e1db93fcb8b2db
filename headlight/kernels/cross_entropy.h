// Cross-entropy of rows of logits against class numbers; targets equal to `ignored` do not count.
#pragma once

#include "headlight/kernels/execution.h"

namespace headlight::kernels {

// loss[r] = -(1 - s) * log p[target] - s * mean over classes of log p, with s = label smoothing; 0
// for an ignored target.
struct CrossEntropyOptions {
  int64_t ignored = -1;
  float label_smoothing = 0;
};
// `losses` is (rows,). When d_logits has data it receives the gradient of factor * sum of losses
// (written, not added); it may be logits.
void cross_entropy(const Execution& execution, tensor::ConstMatrixView logits,
                   const int64_t* targets, const CrossEntropyOptions& options, float* losses,
                   float factor, tensor::MatrixView d_logits);

}  // namespace headlight::kernels
