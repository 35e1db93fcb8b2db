// What every kernel is given first: where to run and where to take scratch memory. Also the choice
// of instruction set.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/tensor/tensor.h"

namespace headlight::kernels {

struct Execution {
  base::ThreadPool& threads;
  tensor::Arena& arena;
};

// All instruction sets that there are kernels for, best first.
std::span<const std::string_view> simd_names();
// The instruction sets this machine has and this program was built for, best first: "avx512",
// "avx2", "sse4", "scalar".
std::vector<std::string> simd_targets();
// The one in use.
std::string simd_target();
// Uses nothing better than `name` from now on; throws Error(usage) listing the names when it is
// unknown. Not thread-safe: call it before any work. Packed matrices and key caches made before a
// change must not be used after it.
void limit_simd(std::string_view name);

}  // namespace headlight::kernels
