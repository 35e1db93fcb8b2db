// The longest beginning.
#include "headlight/infer/read_prompts.h"

#include <algorithm>

namespace headlight::infer {

const ReadPrompts::Read* ReadPrompts::find(std::span<const int64_t> ids) const {
  const Read* longest = nullptr;
  for (const Read& read : reads_) {
    const size_t size = read.ids.size();
    if (size >= ids.size() || (longest != nullptr && size <= longest->ids.size())) continue;
    if (std::ranges::equal(read.ids, ids.first(size))) longest = &read;
  }
  return longest;
}

void ReadPrompts::keep(std::vector<int64_t> ids, models::Decoding decoding) {
  constexpr size_t kMost = 4;  // a prompt and its answer, of two turns
  std::erase_if(reads_, [&](const Read& read) { return read.ids == ids; });
  if (reads_.size() == kMost) reads_.erase(reads_.begin());
  reads_.push_back({std::move(ids), std::move(decoding)});
}

}  // namespace headlight::infer
