// Instruction sets by name, over Highway's target bits.
#include "headlight/kernels/execution.h"

#include <hwy/highway.h>

#include <iterator>

namespace headlight::kernels {
namespace {

struct Target {
  const char* name;
  int64_t bit;
};
constexpr Target kTargets[] = {
    {"avx512", HWY_AVX3}, {"avx2", HWY_AVX2}, {"sse4", HWY_SSE4}, {"scalar", HWY_SCALAR}};

// Those the machine has (or is limited to) and this program was built for.
int64_t usable_targets() { return hwy::SupportedTargets() & HWY_TARGETS; }

int64_t machine_targets() {
  hwy::SetSupportedTargetsForTest(0);  // 0: detect again
  return usable_targets();
}

}  // namespace

std::vector<std::string> simd_targets() {
  // Detected once, before any limit, so that the list does not shrink with it.
  static const int64_t kAvailable = machine_targets();
  std::vector<std::string> names;
  for (const Target& target : kTargets) {
    if (target.bit == HWY_SCALAR || (kAvailable & target.bit) != 0) names.emplace_back(target.name);
  }
  return names;
}

std::string simd_target() {
  for (const Target& target : kTargets) {
    if ((usable_targets() & target.bit) != 0) return target.name;
  }
  return "scalar";
}

void limit_simd(std::string_view name) {
  int64_t allowed = 0;
  for (auto target = std::rbegin(kTargets); target != std::rend(kTargets); ++target) {
    allowed |= target->bit;
    if (target->name == name) {
      simd_targets();
      hwy::SetSupportedTargetsForTest(0);
      hwy::SetSupportedTargetsForTest((hwy::SupportedTargets() & allowed) | HWY_SCALAR);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      return;
    }
  }
  throw base::Error(base::ErrorKind::usage, "instruction set", std::string(name),
                    "unknown; known are avx512, avx2, sse4, scalar");
}

}  // namespace headlight::kernels
