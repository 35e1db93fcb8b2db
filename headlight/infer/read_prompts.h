// ReadPrompts: what a model has read, kept for prompts that begin alike, as the turns of a
// conversation do.
#pragma once

#include <span>
#include <vector>

#include "headlight/models/models.h"

namespace headlight::infer {

// Keys and values are shared with the sequences that go on from them. For prompts without a source.
// One thread uses it, and the sequences it belongs to, at a time. The model outlives it.
class ReadPrompts {
 public:
  struct Read {
    std::vector<int64_t> ids;
    models::Decoding decoding;
  };

  // The longest that these ids begin with and go on from; nullptr: none.
  const Read* find(std::span<const int64_t> ids) const;
  // The oldest is forgotten where there are too many.
  void keep(std::vector<int64_t> ids, models::Decoding decoding);
  void clear() { reads_.clear(); }

 private:
  std::vector<Read> reads_;  // the newest last
};

}  // namespace headlight::infer
