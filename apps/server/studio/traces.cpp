// A list in the order of use.
#include "apps/server/studio/traces.h"

#include <algorithm>
#include <random>

namespace headlight::server::studio {
namespace {

std::string hexadecimal(uint64_t number) {
  std::string text(16, '0');
  for (size_t i = 0; i < text.size(); ++i) {
    text[text.size() - 1 - i] = "0123456789abcdef"[(number >> (4 * i)) & 15];
  }
  return text;
}

}  // namespace

size_t KeptTrace::run_at(std::optional<int64_t> run) const {
  const auto count = static_cast<int64_t>(document->run_count());
  if (!run) return static_cast<size_t>(count - 1);
  if (*run < 0 || *run >= count) {
    refuse_field("run", "the trace has the runs 0 to " + std::to_string(count - 1) + ", not " +
                            std::to_string(*run));
  }
  return static_cast<size_t>(*run);
}

TraceStore::TraceStore(const Limits& limits) : limits_(limits) {
  std::random_device device;
  key_ = (uint64_t{device()} << 32) | device();
}

std::shared_ptr<KeptTrace> TraceStore::add(std::unique_ptr<KeptTrace> trace) {
  if (trace->bytes > limits_.bytes) {
    throw HttpError({.status = 413,
                     .message = "trace (" + trace->model + "): takes " +
                                base::memory_text(trace->bytes) + ", " +
                                base::memory_text(limits_.bytes) +
                                " are there for traces; fewer layers or a shorter text need less",
                     .code = "trace_too_large"});
  }
  const std::lock_guard lock(mutex_);
  trace->id = hexadecimal(base::mix(key_, ++count_));
  traces_.push_front(std::move(trace));
  uint64_t sum = 0;
  for (const auto& one : traces_) sum += one->bytes;
  while (traces_.size() > limits_.traces || sum > limits_.bytes) {
    sum -= traces_.back()->bytes;
    traces_.pop_back();
  }
  return traces_.front();
}

TraceStore::Place TraceStore::place_of(const std::string& id) {
  const Place place = std::ranges::find(traces_, id, [](const auto& trace) { return trace->id; });
  if (place == traces_.end()) refuse_unknown("trace", id, "trace_not_found");
  return place;
}

std::shared_ptr<KeptTrace> TraceStore::find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  traces_.splice(traces_.begin(), traces_, place_of(id));
  return traces_.front();
}

void TraceStore::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  traces_.erase(place_of(id));
}

uint64_t TraceStore::bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const auto& one : traces_) sum += one->bytes;
  return sum;
}

size_t TraceStore::size() const {
  const std::lock_guard lock(mutex_);
  return traces_.size();
}

}  // namespace headlight::server::studio
