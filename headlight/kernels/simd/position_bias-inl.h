// Position biases of a head by relative position, one number each: rows of a score tile read them
// one step apart. Per-target header: include it inside foreach_target files only.
#if defined(HEADLIGHT_KERNELS_SIMD_POSITION_BIAS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADLIGHT_KERNELS_SIMD_POSITION_BIAS_INL_H_
#undef HEADLIGHT_KERNELS_SIMD_POSITION_BIAS_INL_H_
#else
#define HEADLIGHT_KERNELS_SIMD_POSITION_BIAS_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <vector>

#include "headlight/kernels/attention_rows.h"
#include "headlight/kernels/position_bias.h"
#include "headlight/kernels/simd/mask-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// to[k] = -slope * |first + k|, the distance rounded to float32.
HWY_INLINE void fill_linear_bias(float slope, int64_t first, int64_t count, float* to) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  constexpr int64_t kLargest = int64_t{1} << 30;  // of what is computed in 32 bits
  int64_t k = 0;
  if (first >= -kLargest && first + count <= kLargest) {
    const FloatVec factor = hn::Set(d, -slope);
    for (; k + kLanes <= count; k += kLanes) {
      const auto relative = hn::Iota(di, static_cast<int32_t>(first + k));
      hn::StoreU(hn::Mul(factor, hn::ConvertTo(d, hn::Abs(relative))), d, to + k);
    }
  }
  for (; k < count; ++k) to[k] = -slope * static_cast<float>(std::abs(first + k));
}

// The biases of some rows of one head: numbers by relative position, from that of the last row and
// `first_key` on.
struct PositionBiases {
  const float* numbers = nullptr;  // null: none
  int64_t last_row = 0;
  int64_t first_key = 0;

  // The place of row i and `key`; the keys after it follow, and row i + 1 is a number earlier.
  int64_t index(int64_t i, int64_t key) const { return (key - first_key) + (last_row - i); }
  const float* of_row(int64_t i, int64_t key) const {
    return numbers ? numbers + index(i, key) : nullptr;
  }
};

// A problem's position bias, made ready once per call.
class PositionBiasSource {
 public:
  explicit PositionBiasSource(const AttentionProblem& problem)
      : shape_(problem.shape), past_(problem.mask.past), bias_(problem.position_bias) {
    if (bias_.kind == PositionBiasKind::buckets) runs_ = bucket_runs(bias_);
  }

  // Numbers for `rows` rows and `keys` keys; 0 without a position bias.
  int64_t size(int64_t rows, int64_t keys) const { return bias_ ? rows + keys : 0; }

  // Whether no bias can hide a key.
  bool is_finite() const {
    const int64_t count = bias_ ? per_head() * shape_.heads : 0;
    return std::all_of(bias_.coefficients, bias_.coefficients + count,
                       [](float x) { return std::isfinite(x); });
  }

  // Writes the biases of `rows` and keys [keys.first, keys.last) to `to`, which has room for size()
  // numbers.
  PositionBiases fill(const RowBlock& rows, KeyInterval keys, float* to) const {
    if (!bias_) return {};
    const PositionBiases biases{to, rows.first + rows.count - 1, keys.first};
    const int64_t first = first_relative(rows.b, biases),
                  count = rows.count + keys.last - keys.first;
    if (bias_.kind == PositionBiasKind::linear) {
      fill_linear_bias(bias_.coefficients[rows.h], first, count, to);
    } else {
      for_runs(first, count, [&](int64_t bucket, int64_t begin, int64_t end) {
        std::fill(to + begin, to + end, bias_.coefficients[bucket * shape_.heads + rows.h]);
      });
    }
    return biases;
  }

  // How many slopes or buckets a head has.
  int64_t per_head() const { return bias_.kind == PositionBiasKind::buckets ? bias_.buckets : 1; }

  // From `count` gradients of biases to those of a head's coefficients, added up in double
  // precision:
  //   linear: dslope = -sum |relative| dbias;  buckets: dtable[bucket] = sum dbias in the bucket.
  void sum_gradients(int64_t b, const PositionBiases& d_biases, int64_t count,
                     double* d_coefficients) const {
    const int64_t first = first_relative(b, d_biases);
    std::fill_n(d_coefficients, per_head(), 0.0);
    if (bias_.kind == PositionBiasKind::linear) {
      for (int64_t k = 0; k < count; ++k) {
        const auto distance = static_cast<double>(std::abs(first + k));
        d_coefficients[0] -= distance * static_cast<double>(d_biases.numbers[k]);
      }
      return;
    }
    for_runs(first, count, [&](int64_t bucket, int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k)
        d_coefficients[bucket] += static_cast<double>(d_biases.numbers[k]);
    });
  }

 private:
  int64_t first_relative(int64_t b, const PositionBiases& biases) const {
    return biases.first_key - biases.last_row - (past_ ? past_[b] : 0);
  }

  // f(bucket, begin, end) for each run of positions first + begin to first + end - 1 in one bucket,
  // of `count` positions.
  template <class F>
  void for_runs(int64_t first, int64_t count, const F& f) const {
    int64_t begin = 0;
    for (size_t run = 0; run < runs_.size() && begin < count; ++run) {
      const bool last = run + 1 == runs_.size();
      const int64_t end = last ? count : std::min(count, runs_[run + 1].first - first);
      if (end <= begin) continue;
      f(runs_[run].bucket, begin, end);
      begin = end;
    }
  }

  const AttentionShape& shape_;
  const int64_t* past_;
  const PositionBias& bias_;
  std::vector<BucketRun> runs_;
};

// Adds biases to a row of scores; -infinity hides whatever the score is.
HWY_INLINE void add_position_bias(const float* biases, int64_t begin, int64_t end,
                                  float* HWY_RESTRICT row) {
  const FloatTag d;
  const FloatVec hidden = hn::Set(d, kHidden);
  for (int64_t c = begin; c < end; c += kLanes) {
    const FloatVec bias = hn::LoadU(d, biases + c);
    const FloatVec sum = hn::Add(hn::LoadU(d, row + c), bias);
    hn::StoreU(hn::IfThenElse(hn::Eq(bias, hidden), hidden, sum), d, row + c);
  }
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
