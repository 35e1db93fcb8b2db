// Instruction sets by name, and which of them is used.
#include "headlight/kernels/execution.h"

#include <hwy/highway.h>
#if HWY_ARCH_X86
#include <cpuid.h>
#endif

#include <array>
#include <atomic>

#include "headlight/kernels/dispatch.h"

namespace headlight::kernels {
namespace {

struct Target {
  const char* name;
  int64_t bit;
};
constexpr std::array<Target, 4> kTargets = {
    {{"avx512", HWY_AVX3}, {"avx2", HWY_AVX2}, {"sse4", HWY_SSE4}, {"scalar", HWY_SCALAR}}};
constexpr size_t kScalar = kTargets.size() - 1;

#if HWY_ARCH_X86
// Compilers' own question about the processor does not know this one everywhere.
bool has_f16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

// All that Highway lets the compiler use for a target; the system saves its registers.
int64_t machine_targets() {
  __builtin_cpu_init();
  int64_t targets = HWY_SCALAR;
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul") ||
      !__builtin_cpu_supports("aes")) {
    return targets;
  }
  targets |= HWY_SSE4;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") || !has_f16c()) {
    return targets;
  }
  targets |= HWY_AVX2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
    targets |= HWY_AVX3;
  }
  return targets;
}
#else
int64_t machine_targets() { return HWY_SCALAR; }
#endif

// Whether the machine has it and this program was built for it.
bool is_usable(size_t target) {
  static const int64_t kUsable = machine_targets() & HWY_TARGETS;
  return target == kScalar || (kUsable & kTargets[target].bit) != 0;
}

size_t best_target(size_t not_better_than) {
  size_t target = not_better_than;
  while (!is_usable(target)) ++target;
  return target;
}

constexpr size_t kNotChosen = kTargets.size();
std::atomic<size_t> chosen{kNotChosen};

}  // namespace

size_t chosen_target() noexcept {
  size_t target = chosen.load(std::memory_order_relaxed);
  if (target == kNotChosen) {
    target = best_target(0);
    chosen.store(target, std::memory_order_relaxed);
  }
  return target;
}

std::span<const std::string_view> simd_names() {
  static constexpr std::array<std::string_view, kTargets.size()> kNames = {
      kTargets[0].name, kTargets[1].name, kTargets[2].name, kTargets[3].name};
  return kNames;
}

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (size_t target = 0; target < kTargets.size(); ++target) {
    if (is_usable(target)) names.emplace_back(kTargets[target].name);
  }
  return names;
}

std::string simd_target() { return kTargets[chosen_target()].name; }

void limit_simd(std::string_view name) {
  for (size_t target = 0; target < kTargets.size(); ++target) {
    if (kTargets[target].name == name) {
      chosen.store(best_target(target), std::memory_order_relaxed);
      return;
    }
  }
  std::string known;
  for (const std::string_view one : simd_names())
    known.append(known.empty() ? "" : ", ").append(one);
  throw base::Error(base::ErrorKind::usage, "instruction set", std::string(name),
                    "unknown; known are " + known);
}

}  // namespace headlight::kernels
