// What the losses share: targets that count, the mean, and a node whose gradients were computed
// together with the loss. Inside autograd only.
#pragma once

#include <string_view>
#include <vector>

#include "headlight/autograd/report.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {

// Targets as they are counted: contiguous, each a class or ignored.
struct CountedTargets {
  tensor::Tensor targets;
  int64_t counted = 0;

  // `rows` is what has one target per row, e.g. the logits (..., V). Throws Error naming the first
  // target that is neither a class nor ignored.
  CountedTargets(std::string_view operation, const tensor::Tensor& targets,
                 const tensor::Tensor& rows, int64_t classes,
                 const kernels::CrossEntropyOptions& options);

  // 1 / counted; 0 when nothing counts.
  float factor() const { return counted == 0 ? 0 : 1 / static_cast<float>(counted); }
  // The mean of the losses of the targets that count, as a tensor of one number.
  tensor::Tensor mean(Context& context, const tensor::Tensor& losses) const;
};

std::vector<Attribute> loss_attributes(const kernels::CrossEntropyOptions& options);

// Gradients of a loss that are ready; backward only has to multiply and hand them over.
class LossNode : public Node {
 public:
  void add(tensor::Tensor gradient, const std::shared_ptr<Gradient>& to);
  void backward(Context& context) override;

 private:
  struct Ready {
    tensor::Tensor gradient;
    std::shared_ptr<Gradient> to;
  };
  std::vector<Ready> ready_;
};

}  // namespace headlight::autograd
