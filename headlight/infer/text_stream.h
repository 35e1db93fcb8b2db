// TextStream: the text of a continuation as its ids come, watched for stop texts. Inside infer
// only.
#pragma once

#include <optional>
#include <string>

#include "headlight/infer/generate.h"

namespace headlight::infer {

// A value: beams that part copy it. `ending` outlives it.
class TextStream {
 public:
  // The prompt's ids are read first, so that what comes is what follows their text.
  TextStream(const Ending& ending, const std::vector<int64_t>& prompt);

  // Text that is certain now: whole code points that no stop text can begin with.
  std::string add(int64_t id);
  // What was held back, when no more ids come.
  std::string finish();
  // A stop text has come; add() gave all that stands before it.
  bool is_stopped() const noexcept { return is_stopped_; }

 private:
  std::string release(bool is_last);

  const Ending* ending_;
  std::optional<text::StreamDecoder> decoder_;
  std::string held_;
  bool is_stopped_ = false;
};

}  // namespace headlight::infer
