// A case of an operation: inputs drawn at random, the engine's way to compute it and the
// double-precision reference's. Draw: the random numbers a case is made of.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "headlight/autograd/autograd.h"

namespace headlight::tests {

using Numbers = std::vector<double>;

// Counter-based: case n of an operation is the same in every program. For a benchmark nothing is
// drawn: sizes are the typical ones and no option is taken.
class Draw {
 public:
  static Draw random(std::string_view operation, uint64_t index) {
    return Draw(base::mix(base::name_key(operation), index), false);
  }
  static Draw typical() { return Draw(0, true); }

  // Up to `most`, usually much less, `least` now and then; `typical` in a benchmark.
  int64_t size(int64_t least, int64_t most, int64_t typical) {
    if (typical_) return typical;
    const int64_t limit = chance(0.85) ? std::min<int64_t>(most, least + 7) : most;
    return between(least, limit);
  }
  int64_t between(int64_t first, int64_t last) {
    return first +
           static_cast<int64_t>(random_.below(next_++, static_cast<uint64_t>(last - first + 1)));
  }
  // Whether an option is taken.
  bool chance(double probability = 0.5) {
    return !typical_ && random_.uniform64(next_++) < probability;
  }
  double uniform(double first, double last) {
    return rounded(first + (last - first) * random_.uniform64(next_++));
  }
  // Normal numbers; floats, so that engine and reference start from the same.
  Numbers normal(int64_t count, double deviation = 1) {
    Numbers numbers(static_cast<size_t>(count));
    for (double& number : numbers) number = rounded(deviation * random_.normal(next_++));
    return numbers;
  }
  tensor::Tensor integers(const tensor::Shape& shape, int64_t first, int64_t last) {
    std::vector<int64_t> values(static_cast<size_t>(shape.elements()));
    for (int64_t& value : values) value = between(first, last);
    return tensor::Tensor::of(shape, values);
  }
  uint64_t key() { return random_.bits(next_++); }

 private:
  Draw(uint64_t key, bool typical) : random_(key), typical_(typical) {}
  static double rounded(double number) { return static_cast<double>(static_cast<float>(number)); }

  base::Random random_;
  uint64_t next_ = 0;
  bool typical_;
};

// An input with a gradient. The tests also hand it over as columns of a wider tensor, unless the
// operation wants it in one piece.
struct OpInput {
  std::string name;
  tensor::Shape shape;
  Numbers numbers;
  bool one_piece = false;
};

using References = std::vector<Numbers>;  // numbers of each input, in order

inline References zeros_like(const References& inputs) {
  References zeros;
  for (const Numbers& input : inputs) zeros.emplace_back(input.size(), 0.0);
  return zeros;
}

// (rows, width) or (sequences, rows, width).
inline tensor::Shape draw_rows(Draw& draw, int64_t width) {
  const int64_t rows = draw.size(0, 70, 512);
  if (draw.chance(0.7)) return {rows, width};
  return {draw.size(1, 3, 1), rows, width};
}
inline int64_t rows_of(const tensor::Shape& shape) { return shape.with(-1, 1).elements(); }

// Any activation; `typical` in a benchmark.
inline kernels::Activation draw_activation(Draw& draw, kernels::Activation typical) {
  if (!draw.chance(0.8)) return typical;
  return kernels::kActivations[draw.between(0, std::ssize(kernels::kActivations) - 1)].activation;
}

// The gradients are those of sum(output * d_output).
struct OpCase {
  std::vector<OpInput> inputs;
  autograd::RandomState random = {};  // with training on, so that dropout drops
  std::function<autograd::Value(autograd::Context&, const std::vector<autograd::Value>&)> engine;
  std::function<Numbers(const References&)> forward;
  std::function<References(const References&, const Numbers& d_output)> backward;
};

// How an operation gets its cases, and how many the tests draw.
struct Op {
  const char* name;
  int cases;
  OpCase (*draw)(Draw& draw);
};

}  // namespace headlight::tests
