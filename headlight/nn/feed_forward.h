// FeedForward: two linear layers with an activation between them, or three with a gate.
#pragma once

#include "headlight/nn/linear.h"

namespace headlight::nn {

//   plain:                         second(activation(first(x)))
//   gated, when `gate` has a name: second(activation(gate(x)) * first(x))
// Where the gate has the first layer's name, they are one layer of 2 * hidden outputs, the gate's
// before the others.
struct FeedForwardOptions {
  int64_t width = 0;
  int64_t hidden = 0;
  Activation activation = Activation::relu;
  bool bias = true;
  WeightLayout layout = WeightLayout::out_in;
  float hidden_dropout = 0;   // before the second layer
  float output_dropout = 0;   // after the second layer
  std::string first = "fc1";  // names of the layers
  std::string second = "fc2";
  std::string gate = {};
  std::string place = {};  // e.g. "decoder.0.ffn"
};

// An observer may want at "<place>.": hidden (before the activation), activated and output; or gate
// (before the activation), up, activated, gated (their product) and output. An intervention may
// change activated or gated, and output.
class FeedForward {
 public:
  explicit FeedForward(const FeedForwardOptions& options);
  Parameters parameters() const;
  const FeedForwardOptions& options() const noexcept { return options_; }
  void set_place(std::string place) { options_.place = std::move(place); }
  const Linear* gate() const noexcept { return gate_ ? &*gate_ : nullptr; }  // null: plain
  const Linear& first() const noexcept { return first_; }
  const Linear& second() const noexcept { return second_; }
  Value forward(Context& context, const Value& x) const;

 private:
  Value plain_hidden(Context& context, const Value& x) const;
  Value gated_hidden(Context& context, const Value& x) const;

  FeedForwardOptions options_;
  std::optional<Linear> gate_;
  Linear first_;
  Linear second_;
  std::optional<Linear> gate_first_;  // both in one product, where they lie side by side
};

}  // namespace headlight::nn
