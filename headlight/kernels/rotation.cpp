// Rotary positions. Cosines and sines are computed once for each position of a chunk of rows, in
// double: angles of a million radians have to be right to the last bit of a float.
#include "headlight/kernels/rotation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/rotation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <numbers>
#include <optional>

#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

struct TurnedPair {
  FloatVec a;
  FloatVec b;
};

HWY_INLINE TurnedPair turned(FloatVec a, FloatVec b, FloatVec cosine, FloatVec sine) {
  return {hn::MulSub(a, cosine, hn::Mul(b, sine)), hn::MulAdd(b, cosine, hn::Mul(a, sine))};
}

// Pairs of columns i and i + pairs.
HWY_INLINE void rotate_halves(const float* x, float* y, int64_t pairs, const float* cosines,
                              const float* sines, bool accumulate) {
  for_vectors(0, pairs, [&](auto at) HWY_ATTR {
    TurnedPair to = turned(at.load(x), at.load(x + pairs), at.load(cosines), at.load(sines));
    if (accumulate) to = {hn::Add(at.load(y), to.a), hn::Add(at.load(y + pairs), to.b)};
    at.store(to.a, y);
    at.store(to.b, y + pairs);
  });
}

// A vector of pairs of columns 2i and 2i + 1, all of them there.
HWY_INLINE void rotate_neighbours(const float* x, float* y, FloatVec cosine, FloatVec sine,
                                  bool accumulate) {
  const FloatTag d;
  FloatVec a, b;
  hn::LoadInterleaved2(d, x, a, b);
  TurnedPair to = turned(a, b, cosine, sine);
  if (accumulate) {
    hn::LoadInterleaved2(d, y, a, b);
    to = {hn::Add(a, to.a), hn::Add(b, to.b)};
  }
  hn::StoreInterleaved2(to.a, to.b, d, y);
}

HWY_INLINE void rotate_interleaved(const float* x, float* y, int64_t pairs, const float* cosines,
                                   const float* sines, bool accumulate) {
  int64_t i = 0;
  for (; i + kLanes <= pairs; i += kLanes) {
    rotate_neighbours(x + 2 * i, y + 2 * i, hn::LoadU(FloatTag(), cosines + i),
                      hn::LoadU(FloatTag(), sines + i), accumulate);
  }
  if (i == pairs) return;
  // The last pairs go through the same arithmetic in a place of their own.
  const int64_t left = pairs - i;
  float x_lanes[2 * kLanes] = {}, y_lanes[2 * kLanes] = {};
  std::copy(x + 2 * i, x + 2 * pairs, x_lanes);
  if (accumulate) std::copy(y + 2 * i, y + 2 * pairs, y_lanes);
  rotate_neighbours(x_lanes, y_lanes, load_first(cosines + i, left), load_first(sines + i, left),
                    accumulate);
  std::copy(y_lanes, y_lanes + 2 * left, y + 2 * i);
}

void rotate_row(const Rotation& rotation, const float* cosines, const float* sines, const float* x,
                float* y, int64_t cols, bool accumulate) {
  const int64_t width = cols / rotation.heads;
  const int64_t rotated = 2 * rotation.pairs;
  const auto same = [](FloatVec v) HWY_ATTR { return v; };
  const auto add = [](FloatVec v, FloatVec sum) HWY_ATTR { return hn::Add(sum, v); };
  for (int64_t head = 0; head < rotation.heads; ++head, x += width, y += width) {
    if (rotation.interleaved) {
      rotate_interleaved(x, y, rotation.pairs, cosines, sines, accumulate);
    } else {
      rotate_halves(x, y, rotation.pairs, cosines, sines, accumulate);
    }
    if (accumulate) {
      map_row(width - rotated, y + rotated, add, x + rotated, y + rotated);
    } else {
      map_row(width - rotated, y + rotated, same, x + rotated);
    }
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HEADLIGHT_EXPORT(rotate_row);

// Cosines, then sines, of all pairs at one position.
void fill_angles(const Rotation& rotation, int64_t position, float* cosines, float* sines) {
  const double magnitude = rotation.magnitude;
  const double direction = rotation.backwards ? -magnitude : magnitude;
  for (int64_t i = 0; i < rotation.pairs; ++i) {
    const double angle = static_cast<double>(position) * static_cast<double>(rotation.rates[i]);
    cosines[i] = static_cast<float>(magnitude * std::cos(angle));
    sines[i] = static_cast<float>(direction * std::sin(angle));
  }
}

// Turns within `original_positions` decide: few turns are slowed down, many are kept.
double llama3_rate(const RotaryRates& options, double rate) {
  const double turns = options.original_positions * rate / (2 * std::numbers::pi);
  const double kept = std::clamp(
      (turns - options.low_freq_factor) / (options.high_freq_factor - options.low_freq_factor), 0.0,
      1.0);
  return (1 - kept) * rate / options.factor + kept * rate;
}
}  // namespace

std::vector<float> rotary_rates(const RotaryRates& options) {
  std::vector<float> rates;
  for (int64_t i = 0; i < options.width / 2; ++i) {
    double rate =
        std::pow(options.base, -2 * static_cast<double>(i) / static_cast<double>(options.width));
    if (options.scaling == RotaryScaling::linear) rate /= options.factor;
    if (options.scaling == RotaryScaling::llama3) rate = llama3_rate(options, rate);
    rates.push_back(static_cast<float>(rate));
  }
  return rates;
}

void rotate(const Execution& execution, const Rotation& rotation, tensor::ConstMatrixView x,
            tensor::MatrixView y, bool accumulate) {
  if (y.rows == 0) return;
  const int64_t sequences = y.rows / rotation.sequence_rows;
  const Scratch tables(execution, execution.threads.size() * 2 * rotation.pairs);
  const RowChunks chunks = row_chunks(y.rows, y.cols);
  execution.threads.parallel_for(chunks.count(), [&](int64_t chunk, int worker) {
    float* cosines = tables.data + worker * 2 * rotation.pairs;
    float* sines = cosines + rotation.pairs;
    std::optional<int64_t> filled;
    // The same rows of all sequences one after the other: usually they have one position.
    for (int64_t i = chunks.first(chunk); i < chunks.last(chunk); ++i) {
      const int64_t sequence = i % sequences;
      const int64_t row = sequence * rotation.sequence_rows + i / sequences;
      const int64_t position =
          i / sequences + (rotation.past != nullptr ? rotation.past[sequence] : 0);
      if (filled != position) fill_angles(rotation, position, cosines, sines);
      filled = position;
      HEADLIGHT_DISPATCH(rotate_row)
      (rotation, cosines, sines, x.data + row * x.row_stride, y.data + row * y.row_stride, y.cols,
       accumulate);
    }
  });
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
