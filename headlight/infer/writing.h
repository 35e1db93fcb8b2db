// Writing: one sequence as its ids come, up to its end. Inside infer only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/infer/sequences.h"
#include "headlight/infer/text_stream.h"

namespace headlight::infer {

class Writing {
 public:
  // An ending with its stop ids filled in, which outlives it, and a prompt that may get new ids.
  Writing(const Ending& ending, const std::vector<int64_t>& prompt, const Limit& limit);

  struct Added {
    std::string text = {};
    bool is_stop = false;                   // the stop id, which is not among the ids
    std::optional<StopReason> reason = {};  // the end
  };
  Added add(int64_t id);

  // The prompt's ids and the new ones.
  const std::vector<int64_t>& history() const noexcept { return history_; }
  size_t new_count() const noexcept { return history_.size() - prompt_size_; }

 private:
  const Ending* ending_;
  std::vector<int64_t> history_;
  size_t prompt_size_;
  TextStream stream_;
  Limit limit_;
};

}  // namespace headlight::infer
