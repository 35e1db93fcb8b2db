// Which positions of a long axis are printed.
#pragma once

#include <cstdint>
#include <vector>

namespace headlight::narrate {

constexpr int64_t kGap = -1;  // stands for what is left out

// All of [0, count) when these are at most `most`; else the first `front`, a gap, the last `back`.
std::vector<int64_t> shown_indices(int64_t count, int64_t most, int64_t front, int64_t back);

}  // namespace headlight::narrate
