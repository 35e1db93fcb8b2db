// Rotary positions: pairs of a head's columns, each turned by an angle that grows with the row's
// position.
#pragma once

#include <vector>

#include "headlight/kernels/execution.h"

namespace headlight::kernels {

// How fast each pair turns, in radians per position: base^(-2i / width), and slower where a model
// was stretched beyond the positions it was first trained on.
enum class RotaryScaling {
  none,
  linear,  // all divided by `factor`
  llama3,  // those that turn fewer than `low_freq_factor` times within `original_positions` divided
           // by `factor`, those that turn more than `high_freq_factor` times kept, and those
           // between mixed by where they are
};
struct RotaryRates {
  int64_t width = 0;  // columns of a head that are rotated: an even number
  double base = 10000;
  RotaryScaling scaling = RotaryScaling::none;
  double factor = 1;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  double original_positions = 8192;
};
// (width / 2,).
std::vector<float> rotary_rates(const RotaryRates& options);

// Of each head the first 2 * pairs columns are rotated and the rest passed on. Pair i is columns i
// and i + pairs, or 2i and 2i + 1 when they are interleaved.
struct Rotation {
  const float* rates = nullptr;  // (pairs,)
  int64_t pairs = 0;
  int64_t heads = 1;
  int64_t sequence_rows = 1;      // rows of each sequence, one sequence after the other
  const int64_t* past = nullptr;  // position of each sequence's first row; absent: 0
  bool interleaved = false;
  float magnitude = 1;     // multiplies cosines and sines
  bool backwards = false;  // by the opposite angles: the gradient
};
// y_a = x_a cos - x_b sin, y_b = x_b cos + x_a sin, with angles (past + row) * rate; with
// `accumulate` they are added to y. A row's bits depend on its numbers and its position alone. y
// may be x.
void rotate(const Execution& execution, const Rotation& rotation, tensor::ConstMatrixView x,
            tensor::MatrixView y, bool accumulate);

}  // namespace headlight::kernels
