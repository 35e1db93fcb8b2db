// What becomes of a new id.
#include "headlight/infer/writing.h"

namespace headlight::infer {

Writing::Writing(const Ending& ending, const std::vector<int64_t>& prompt, const Limit& limit)
    : ending_(&ending),
      history_(prompt),
      prompt_size_(prompt.size()),
      stream_(ending, prompt),
      limit_(limit) {}

Writing::Added Writing::add(int64_t id) {
  Added added;
  added.is_stop = is_stop_id(*ending_, id);
  if (added.is_stop) {
    added.reason = StopReason::end;
  } else {
    history_.push_back(id);
    added.text = stream_.add(id);
    if (static_cast<int64_t>(new_count()) == limit_.count) added.reason = limit_.reason;
  }
  if (added.reason) added.text += stream_.finish();
  if (stream_.is_stopped()) added.reason = StopReason::stop_text;
  return added;
}

}  // namespace headlight::infer
