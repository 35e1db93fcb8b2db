// FeedForward: two linear layers with an activation between them.
#pragma once

#include "headlight/nn/linear.h"

namespace headlight::nn {

struct FeedForwardOptions {
  int64_t width = 0;
  int64_t hidden = 0;
  Activation activation = Activation::relu;
  bool bias = true;
  WeightLayout layout = WeightLayout::out_in;
  float hidden_dropout = 0;   // after the activation
  float output_dropout = 0;   // after the second layer
  std::string first = "fc1";  // names of the two layers
  std::string second = "fc2";
  std::string place = {};  // e.g. "decoder.0.ffn": an observer may want hidden (before the
                           // activation), activated and output there
};

class FeedForward {
 public:
  explicit FeedForward(const FeedForwardOptions& options);
  Parameters parameters() const;
  const FeedForwardOptions& options() const noexcept { return options_; }
  const Linear& first() const noexcept { return first_; }
  const Linear& second() const noexcept { return second_; }
  Value forward(Context& context, const Value& x) const;

 private:
  FeedForwardOptions options_;
  Linear first_;
  Linear second_;
};

}  // namespace headlight::nn
