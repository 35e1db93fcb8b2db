// Loops that do nothing but the one thing that is measured.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headlight/kernels/probe.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/probe.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using ProbeTag = hn::ScalableTag<float>;
using ProbeVec = hn::Vec<ProbeTag>;
// Enough independent chains to hide the latency of a multiply-add, and no more than the registers
// hold beside its two operands.
constexpr size_t kChains = HWY_TARGET == HWY_AVX3 ? 24 : 12;

template <size_t... I>
HWY_INLINE float multiply_add_chains(int64_t steps, float factor, float term,
                                     std::index_sequence<I...>) {
  const ProbeTag d;
  const ProbeVec a = hn::Set(d, factor);
  const ProbeVec b = hn::Set(d, term);
  // The chains start differently: equal ones would be merged by the compiler.
  ProbeVec chains[] = {hn::Set(d, factor + static_cast<float>(I))...};
  for (int64_t step = 0; step < steps; ++step) ((chains[I] = hn::MulAdd(chains[I], a, b)), ...);
  ProbeVec sum = hn::Zero(d);
  ((sum = hn::Add(sum, chains[I])), ...);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

float multiply_adds(int64_t steps, float factor, float term) {
  return multiply_add_chains(steps, factor, term, std::make_index_sequence<kChains>());
}

double operations_per_step() { return static_cast<double>(2 * kChains * hn::Lanes(ProbeTag())); }

float sum_of(const float* HWY_RESTRICT numbers, size_t count) {
  const ProbeTag d;
  const size_t lanes = hn::Lanes(d);
  ProbeVec sums[8];
  for (ProbeVec& sum : sums) sum = hn::Zero(d);
  for (size_t i = 0; i + 8 * lanes <= count; i += 8 * lanes) {
    for (size_t j = 0; j < 8; ++j)
      sums[j] = hn::Add(sums[j], hn::LoadU(d, numbers + i + j * lanes));
  }
  ProbeVec total = hn::Zero(d);
  for (const ProbeVec& sum : sums) total = hn::Add(total, sum);
  return hn::GetLane(hn::SumOfLanes(d, total));
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headlight::kernels {
namespace {

HEADLIGHT_EXPORT(multiply_adds);
HEADLIGHT_EXPORT(operations_per_step);
HEADLIGHT_EXPORT(sum_of);

// Many short runs rather than a long one: on a busy machine some of them are not interrupted.
constexpr double kRunSeconds = 0.004;
constexpr int kMultiplyAddRuns = 12;
constexpr int kReadPasses = 5;
// A task's share of the memory to read: long enough for the prefetchers, short enough to end
// together.
constexpr int64_t kChunkFloats = int64_t{1} << 20;

// Runs `task` for each index on the pool; the results go where the compiler must believe they are
// needed.
template <class Task>
double seconds_of(const Execution& execution, int64_t count, const Task& task) {
  std::vector<float> results(static_cast<size_t>(count));
  const auto start = std::chrono::steady_clock::now();
  execution.threads.parallel_for(
      count, [&](int64_t index, int) { results[static_cast<size_t>(index)] = task(index); });
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  volatile float sink = 0;
  for (const float result : results) sink = result;
  static_cast<void>(sink);
  return std::max(elapsed.count(), 1e-9);
}

}  // namespace

double multiply_add_limit(const Execution& execution) {
  const int64_t threads = execution.threads.size();
  int64_t steps = 1 << 12;
  const auto run = [&](int64_t) { return HEADLIGHT_DISPATCH(multiply_adds)(steps, 0.5f, 1.0f); };
  // As many steps as fill the time wanted, found by doubling: the speed is what we do not know yet.
  double seconds = seconds_of(execution, threads, run);
  while (seconds < kRunSeconds) {
    steps *= 2;
    seconds = seconds_of(execution, threads, run);
  }
  for (int repeat = 1; repeat < kMultiplyAddRuns; ++repeat) {
    seconds = std::min(seconds, seconds_of(execution, threads, run));
  }
  const double operations = HEADLIGHT_DISPATCH(operations_per_step)();
  return operations * static_cast<double>(steps) * static_cast<double>(threads) / seconds;
}

double read_limit(const Execution& execution, std::span<const float> memory) {
  const auto count = static_cast<int64_t>(memory.size());
  const int64_t chunks = (count + kChunkFloats - 1) / kChunkFloats;
  const auto read = [&](int64_t chunk) {
    const int64_t first = chunk * kChunkFloats;
    return HEADLIGHT_DISPATCH(sum_of)(memory.data() + first,
                                      static_cast<size_t>(std::min(kChunkFloats, count - first)));
  };
  double seconds = seconds_of(execution, chunks, read);
  for (int repeat = 1; repeat < kReadPasses; ++repeat) {
    seconds = std::min(seconds, seconds_of(execution, chunks, read));
  }
  return static_cast<double>(memory.size_bytes()) / seconds;
}

}  // namespace headlight::kernels
#endif
