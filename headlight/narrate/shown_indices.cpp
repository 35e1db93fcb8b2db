// Both ends of an axis, with a gap between them.
#include "headlight/narrate/shown_indices.h"

namespace headlight::narrate {

std::vector<int64_t> shown_indices(int64_t count, int64_t most, int64_t front, int64_t back) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i) {
    if (count <= most || i < front || i >= count - back) {
      indices.push_back(i);
    } else if (indices.back() != kGap) {
      indices.push_back(kGap);
    }
  }
  return indices;
}

}  // namespace headlight::narrate
