// Position biases as published: ALiBi (Press et al.) and T5's buckets (Raffel et al.).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "headlight/kernels/attention.h"

namespace headlight::kernels::reference {

// As kernels::PositionBias, with coefficients of type T.
template <class T>
struct PositionBias {
  PositionBiasKind kind = PositionBiasKind::none;
  const T* coefficients = nullptr;
  int64_t buckets = 0;
  bool bidirectional = false;
  int64_t max_distance = 0;
};

// The bucket of relative = key position - query position. The logarithm is float32's whatever T is:
// a bucket is a whole number, and the published code rounds this way.
template <class T>
int64_t position_bucket(const PositionBias<T>& bias, int64_t relative) {
  const int64_t count = bias.bidirectional ? bias.buckets / 2 : bias.buckets;
  const int64_t side = bias.bidirectional && relative > 0 ? count : 0;
  const int64_t n = bias.bidirectional ? std::abs(relative) : std::max<int64_t>(-relative, 0);
  const int64_t exact = count / 2;
  if (n < exact) return side + n;
  const float position = std::log(static_cast<float>(n) / static_cast<float>(exact));
  const auto range = static_cast<float>(
      std::log(static_cast<double>(bias.max_distance) / static_cast<double>(exact)));
  const auto step = static_cast<int64_t>(position / range * static_cast<float>(count - exact));
  return side + std::min(exact + step, count - 1);
}

template <class T>
T position_bias_of(const PositionBias<T>& bias, int64_t heads, int64_t h, int64_t relative) {
  if (bias.kind == PositionBiasKind::none) return T(0);
  if (bias.kind == PositionBiasKind::linear)
    return -bias.coefficients[h] * static_cast<T>(std::abs(relative));
  return bias.coefficients[position_bucket(bias, relative) * heads + h];
}

// d_coefficients += d_score * (the bias's derivative): -|relative| for a slope, 1 for an entry of
// the table.
template <class T>
void add_position_bias_gradient(const PositionBias<T>& bias, int64_t heads, int64_t h,
                                int64_t relative, T d_score, T* d_coefficients) {
  if (bias.kind == PositionBiasKind::linear)
    d_coefficients[h] -= d_score * static_cast<T>(std::abs(relative));
  if (bias.kind == PositionBiasKind::buckets)
    d_coefficients[position_bucket(bias, relative) * heads + h] += d_score;
}

}  // namespace headlight::kernels::reference
