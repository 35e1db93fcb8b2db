// Updates of all parameters in one threaded pass, cut into chunks by their sizes alone.
#include "headlight/kernels/adamw.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/adamw.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>
#include <vector>

#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/row_chunks.h"
#include "headlight/kernels/simd/row-inl.h"

#ifndef HEADLIGHT_KERNELS_ADAMW_COEFFICIENTS_
#define HEADLIGHT_KERNELS_ADAMW_COEFFICIENTS_
namespace headlight::kernels {

// What the numbers of one parameter are multiplied with, rounded once.
struct UpdateCoefficients {
  UpdateCoefficients(const UpdateOptions& options, const ParameterUpdate& update)
      : decay(static_cast<float>(update.weight_decay)),
        shrink(static_cast<float>(1 - options.learning_rate * update.weight_decay)),
        gradient_factor(static_cast<float>(options.gradient_factor)),
        momentum(static_cast<float>(options.momentum)),
        rate(static_cast<float>(options.learning_rate)),
        new_share_1(static_cast<float>(1 - options.beta1)),
        beta2(static_cast<float>(options.beta2)),
        new_share_2(static_cast<float>(1 - options.beta2)),
        step_size(
            static_cast<float>(options.learning_rate / (1 - std::pow(options.beta1, update.step)))),
        root_factor(static_cast<float>(1 / std::sqrt(1 - std::pow(options.beta2, update.step)))),
        epsilon(static_cast<float>(options.epsilon)) {}
  float decay, shrink, gradient_factor, momentum, rate;
  float new_share_1, beta2, new_share_2, step_size, root_factor, epsilon;
};

}  // namespace headlight::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

// Zero in place of numbers too small to be normal.
HWY_INLINE FloatVec normal_or_zero(FloatVec v) {
  const FloatVec smallest = hn::Set(FloatTag(), std::numeric_limits<float>::min());
  return hn::IfThenZeroElse(hn::Lt(hn::Abs(v), smallest), v);
}

// Numbers [first, end) of one parameter. m, v: moments; g: gradient; p: numbers.
void update_adam(UpdateRule rule, const UpdateCoefficients& with, const ParameterUpdate& update,
                 int64_t first, int64_t end) {
  const FloatTag d;
  const FloatVec factor = hn::Set(d, with.gradient_factor);
  const FloatVec shrink = hn::Set(d, rule == UpdateRule::adamw ? with.shrink : 1.0F);
  const FloatVec decay = hn::Set(d, rule == UpdateRule::adamw ? 0.0F : with.decay);
  const FloatVec new_share_1 = hn::Set(d, with.new_share_1);
  const FloatVec new_share_2 = hn::Set(d, with.new_share_2);
  const FloatVec beta2 = hn::Set(d, with.beta2);
  const FloatVec step_size = hn::Set(d, with.step_size);
  const FloatVec root_factor = hn::Set(d, with.root_factor);
  const FloatVec epsilon = hn::Set(d, with.epsilon);
  for_vectors(first, end, [&](auto at) HWY_ATTR {
    const FloatVec p = at.load(update.numbers);
    const FloatVec g = hn::MulAdd(decay, p, hn::Mul(factor, at.load(update.gradient)));
    FloatVec m = at.load(update.first_moment);
    FloatVec v = at.load(update.second_moment);
    m = normal_or_zero(hn::MulAdd(new_share_1, hn::Sub(g, m), m));
    v = normal_or_zero(hn::MulAdd(hn::Mul(new_share_2, g), g, hn::Mul(beta2, v)));
    const FloatVec size = hn::MulAdd(hn::Sqrt(v), root_factor, epsilon);
    at.store(m, update.first_moment);
    at.store(v, update.second_moment);
    at.store(hn::NegMulAdd(step_size, hn::Div(m, size), hn::Mul(shrink, p)), update.numbers);
  });
}

void update_sgd(const UpdateCoefficients& with, const ParameterUpdate& update, int64_t first,
                int64_t end) {
  const FloatTag d;
  const FloatVec factor = hn::Set(d, with.gradient_factor);
  const FloatVec decay = hn::Set(d, with.decay);
  const FloatVec momentum = hn::Set(d, with.momentum);
  const FloatVec rate = hn::Set(d, with.rate);
  for_vectors(first, end, [&](auto at) HWY_ATTR {
    const FloatVec p = at.load(update.numbers);
    const FloatVec g = hn::MulAdd(decay, p, hn::Mul(factor, at.load(update.gradient)));
    const FloatVec m = normal_or_zero(hn::MulAdd(momentum, at.load(update.first_moment), g));
    at.store(m, update.first_moment);
    at.store(hn::NegMulAdd(rate, m, p), update.numbers);
  });
}

double square_sum(const float* x, int64_t count) {
  return sum_row(
      count, [](FloatVec v) HWY_ATTR { return hn::Mul(v, v); }, x);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {
HEADLIGHT_EXPORT(update_adam);
HEADLIGHT_EXPORT(update_sgd);
HEADLIGHT_EXPORT(square_sum);

// Numbers [first, end) of parameter `index`.
struct Piece {
  size_t index;
  int64_t first;
  int64_t end;
};

// One list for all parameters, so that small ones share threads with large ones.
std::vector<Piece> pieces_of(std::span<const ParameterUpdate> updates) {
  std::vector<Piece> pieces;
  for (size_t index = 0; index < updates.size(); ++index) {
    const RowChunks chunks{.rows = updates[index].count, .chunk_rows = kUpdateBlock};
    for (int64_t chunk = 0; chunk < chunks.count(); ++chunk) {
      pieces.push_back({index, chunks.first(chunk), chunks.last(chunk)});
    }
  }
  return pieces;
}

}  // namespace

void update_parameters(const Execution& execution, const UpdateOptions& options,
                       std::span<const ParameterUpdate> updates) {
  const std::vector<Piece> pieces = pieces_of(updates);
  std::vector<UpdateCoefficients> coefficients;
  for (const ParameterUpdate& update : updates) coefficients.emplace_back(options, update);
  execution.threads.parallel_for(static_cast<int64_t>(pieces.size()), [&](int64_t i, int) {
    const Piece& piece = pieces[static_cast<size_t>(i)];
    const ParameterUpdate& update = updates[piece.index];
    const UpdateCoefficients& with = coefficients[piece.index];
    if (options.rule == UpdateRule::sgd) {
      HEADLIGHT_DISPATCH(update_sgd)(with, update, piece.first, piece.end);
    } else {
      HEADLIGHT_DISPATCH(update_adam)(options.rule, with, update, piece.first, piece.end);
    }
  });
}

std::vector<double> square_sums(const Execution& execution,
                                std::span<const ParameterUpdate> updates) {
  const std::vector<Piece> pieces = pieces_of(updates);
  std::vector<double> sums(pieces.size());
  execution.threads.parallel_for(static_cast<int64_t>(pieces.size()), [&](int64_t i, int) {
    const Piece& piece = pieces[static_cast<size_t>(i)];
    sums[static_cast<size_t>(i)] = HEADLIGHT_DISPATCH(square_sum)(
        updates[piece.index].gradient + piece.first, piece.end - piece.first);
  });
  return sums;
}

double norm_of(std::span<const double> square_sums) {
  double total = 0;
  for (const double sum : square_sums) total += sum;
  return std::sqrt(total);
}

}  // namespace headlight::kernels
#endif  // HWY_ONCE
