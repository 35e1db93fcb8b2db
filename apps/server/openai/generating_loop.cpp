// Places of the batch in fair turns, and events on their way to who waits for them.
#include "apps/server/openai/generating_loop.h"

#include <algorithm>

namespace headlight::server::openai {
namespace {

double seconds_since(std::chrono::steady_clock::time_point when) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - when).count();
}

// Without the memory to say so, the reply is let go of, which tells the client too.
void tell_failure(ModelWork& work, const std::exception_ptr& problem) noexcept {
  if (work.is_cancelled()) return;
  try {
    work.failed(problem);
  } catch (...) {
    work.cancel();
  }
}

}  // namespace

GeneratingLoop::GeneratingLoop(Setting setting)
    : setting_(std::move(setting)), context_{.threads = setting_.threads, .arena = arena_} {}

void GeneratingLoop::take(std::vector<QueuedWork>& arrivals) {
  for (QueuedWork& arrival : arrivals) {
    if (arrival.turns != nullptr) {
      turns_.push_back(std::move(arrival));
    } else {
      generations_.push_back({.queued = std::move(arrival)});
    }
  }
  arrivals.clear();
}

void GeneratingLoop::step() {
  drop_cancelled();
  run_turn();
  begin_groups();
  publish();
  run_batch();
  publish();
}

void GeneratingLoop::drop_cancelled() {
  for (Place place = generations_.begin(); place != generations_.end();) {
    const Place next = std::next(place);
    if (place->queued.work->is_cancelled()) remove(place);
    place = next;
  }
  std::erase_if(turns_, [&](const QueuedWork& queued) {
    if (!queued.turns->is_cancelled()) return false;
    setting_.forget(queued);
    return true;
  });
}

// Who has begun a group stands behind the others then.
void GeneratingLoop::begin_groups() {
  for (;;) {
    const Place place = std::ranges::find_if(generations_, &Generation::has_more);
    if (place == generations_.end()) return;
    // What the batch holds back for want of memory is next.
    if (batch_ != nullptr && batch_->load().waiting > 0) return;
    if (!begin_next(place)) return;
  }
}

// How many of so many continuations are read and begin at once: no more than there is memory for.
int64_t GeneratingLoop::group_size(infer::GenerationRequest& request, int64_t left) const {
  const infer::BatchLimits& batch = setting_.limits.batch;
  const int64_t most = std::min({setting_.limits.group, batch.sequences, left});
  if (most <= 1) return most;
  request.continuations = 1;
  const uint64_t bytes = std::max<uint64_t>(1, batch_->bytes_needed(request));
  const uint64_t room = std::max<uint64_t>(1, batch.cache_bytes / bytes);
  return static_cast<int64_t>(std::min(static_cast<uint64_t>(most), room));
}

// False: there is no place for it yet.
bool GeneratingLoop::begin_next(Place place) {
  const infer::GenerationRequest& part = place->queued.work->parts[place->next_part];
  int64_t count = 0;
  try {
    if (batch_ == nullptr) {
      batch_ = std::make_unique<infer::RequestBatch>(setting_.model, setting_.limits.batch);
    }
    infer::GenerationRequest request = part;
    count = group_size(request, part.continuations - place->next_continuation);
    if (sequences_ + count > setting_.limits.batch.sequences) return false;
    request.continuations = count;
    request.first_sequence += static_cast<uint64_t>(place->next_continuation);
    groups_[batch_->add(std::move(request))] = {.generation = place,
                                                .part = place->next_part,
                                                .first_continuation = place->next_continuation,
                                                .open = count};
  } catch (...) {
    fail(place, std::current_exception());
    return true;
  }
  sequences_ += count;
  ++place->groups;
  place->has_begun = true;
  if (place->next_continuation == 0) {
    setting_.metrics.prompt_tokens.add(part.prompt.ids.size() + part.prompt.source.size());
  }
  place->next_continuation += count;
  if (place->next_continuation == part.continuations) {
    ++place->next_part;
    place->next_continuation = 0;
  }
  generations_.splice(generations_.end(), generations_, place);
  return true;
}

void GeneratingLoop::run_batch() {
  if (groups_.empty()) return;
  std::vector<infer::RequestEvent> events;
  try {
    events = batch_->step(context_);
  } catch (...) {
    // Memory ran out in the middle of a step: nothing in the batch can be trusted any more.
    const std::exception_ptr problem = std::current_exception();
    while (!groups_.empty()) fail(groups_.begin()->second.generation, problem);
    batch_.reset();
    return;
  }
  for (const infer::RequestEvent& event : events) tell(event);
}

void GeneratingLoop::tell(const infer::RequestEvent& event) {
  const auto found = groups_.find(event.request);
  if (found == groups_.end()) return;
  Group& group = found->second;
  const Place place = group.generation;
  if (event.error) return fail(place, std::make_exception_ptr(*event.error));
  const QueuedWork& queued = place->queued;
  if (event.token && !event.is_stop) setting_.metrics.generated_tokens.add();
  if (event.token && !place->has_token) {
    place->has_token = true;
    setting_.metrics.first_token_seconds.observe(seconds_since(queued.when));
  }
  try {
    if (!queued.work->is_cancelled()) {
      queued.work->event(group.part,
                         static_cast<size_t>(group.first_continuation) + event.continuation, event);
    }
  } catch (...) {
    return fail(place, std::current_exception());
  }
  if (event.reason) {
    --group.open;
    --sequences_;
  }
  if (event.is_last) close(found);
}

void GeneratingLoop::close(std::map<uint64_t, Group>::iterator group) {
  const Place place = group->second.generation;
  sequences_ -= group->second.open;
  groups_.erase(group);
  --place->groups;
  if (place->groups > 0 || place->has_more()) return;
  observe_end(place->queued);
  const std::shared_ptr<GenerationWork> work = place->queued.work;
  // The place is free before the client can know.
  remove(place);
  try {
    if (!work->is_cancelled()) work->finished();
  } catch (...) {
    tell_failure(*work, std::current_exception());
  }
}

void GeneratingLoop::fail(Place place, const std::exception_ptr& problem) {
  const std::shared_ptr<GenerationWork> work = place->queued.work;
  remove(place);
  tell_failure(*work, problem);
}

void GeneratingLoop::remove(Place place) {
  for (auto group = groups_.begin(); group != groups_.end();) {
    if (group->second.generation != place) {
      ++group;
      continue;
    }
    batch_->drop(group->first);
    sequences_ -= group->second.open;
    group = groups_.erase(group);
  }
  const QueuedWork queued = std::move(place->queued);
  generations_.erase(place);
  setting_.forget(queued);
}

void GeneratingLoop::run_turn() {
  if (turns_.empty()) return;
  QueuedWork queued = std::move(turns_.front());
  turns_.pop_front();
  try {
    if (queued.turns->turn(context_)) {
      turns_.push_back(std::move(queued));
      return;
    }
    setting_.metrics.prompt_tokens.add(queued.prompt_ids);
    observe_end(queued);
  } catch (...) {
    tell_failure(*queued.turns, std::current_exception());
  }
  setting_.forget(queued);
}

void GeneratingLoop::observe_end(const QueuedWork& queued) {
  setting_.metrics.request_seconds.observe(seconds_since(queued.when));
}

void GeneratingLoop::publish() {
  const auto waiting = std::ranges::count_if(
      generations_, [](const Generation& generation) { return !generation.has_begun; });
  setting_.metrics.waiting.set(static_cast<int64_t>(waiting + static_cast<int64_t>(turns_.size())));
  setting_.metrics.sequences.set(sequences_);
}

void GeneratingLoop::fail_all(const std::exception_ptr& problem) {
  drop_cancelled();
  while (!generations_.empty()) fail(generations_.begin(), problem);
  for (; !turns_.empty(); turns_.pop_front()) {
    tell_failure(*turns_.front().turns, problem);
    setting_.forget(turns_.front());
  }
  publish();
}

}  // namespace headlight::server::openai
