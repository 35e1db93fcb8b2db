// RequestBatch: who may begin, and what is forgotten.
#include "headlight/infer/request_batch.h"

#include <algorithm>
#include <utility>

#include "headlight/infer/request_batch_state.h"

namespace headlight::infer {
namespace {

const BatchLimits& checked_limits(const Model& model, const BatchLimits& limits) {
  const models::Capabilities capabilities = model.capabilities();
  if (!capabilities.continues_prompt && !capabilities.translates) {
    base::refuse("requests", model.type(), "the model does not write text");
  }
  if (limits.sequences < 1 || limits.waiting < 0 || limits.prompt_ids < 1) {
    base::refuse("requests", "limits",
                 std::to_string(limits.sequences) + " sequences, " +
                     std::to_string(limits.waiting) + " waiting and " +
                     std::to_string(limits.prompt_ids) + " ids of prompts in a step cannot be");
  }
  return limits;
}

}  // namespace

RequestBatch::State::State(const Model& model, const BatchLimits& limits)
    : model_(model), limits_(checked_limits(model, limits)) {}

uint64_t RequestBatch::State::add(GenerationRequest asked) {
  const auto request = std::make_shared<BatchRequest>(model_, std::move(asked));
  check_fits(*request);
  const bool begins_now = waiting_.empty() && has_place_for(*request);
  if (!begins_now && is_full()) {
    throw base::Error(
        base::ErrorKind::failed, "request", "queue",
        "all " + std::to_string(limits_.waiting) + " places are taken; try again later");
  }
  request->number = ++last_number_;
  waiting_.push_back(request);
  admit();
  return request->number;
}

void RequestBatch::State::check_fits(const BatchRequest& request) const {
  const int64_t count = request.asked.continuations;
  if (count > limits_.sequences) {
    base::refuse("request", "continuations",
                 std::to_string(count) + " are more than the " + std::to_string(limits_.sequences) +
                     " sequences that are written at once");
  }
  // Compared so that no product passes the largest number.
  if (request.sequence_bytes <= limits_.cache_bytes / static_cast<uint64_t>(count)) return;
  throw base::Error(base::ErrorKind::out_of_memory, "request", "cache",
                    std::to_string(count) + (count == 1 ? " sequence" : " sequences") +
                        " of up to " + std::to_string(request.most_ids()) + " ids may need " +
                        std::to_string(request.bytes()) + " bytes of keys and values, at most " +
                        std::to_string(limits_.cache_bytes) + " are there; ask for fewer tokens");
}

bool RequestBatch::State::has_place_for(const BatchRequest& request) const {
  auto places = static_cast<int64_t>(sequences_.size());
  for (const Newcomer& newcomer : newcomers_) places += newcomer.request->asked.continuations;
  return places + request.asked.continuations <= limits_.sequences &&
         reserved_bytes() + request.bytes() <= limits_.cache_bytes;
}

uint64_t RequestBatch::State::reserved_bytes() const {
  uint64_t bytes = 0;
  for (const Newcomer& newcomer : newcomers_) bytes += newcomer.request->bytes();
  for (const WrittenSequence& sequence : sequences_) bytes += sequence.request->sequence_bytes;
  return bytes;
}

// In the order in which they came: a large request is not overtaken by small ones for ever.
void RequestBatch::State::admit() {
  while (!waiting_.empty() && has_place_for(*waiting_.front())) {
    newcomers_.push_back({.request = waiting_.front()});
    waiting_.pop_front();
  }
}

bool RequestBatch::State::drop(uint64_t number) {
  std::vector<RequestHandle> begun;
  for (const Newcomer& newcomer : newcomers_) begun.push_back(newcomer.request);
  for (const WrittenSequence& sequence : sequences_) begun.push_back(sequence.request);
  const auto is_it = [number](const RequestHandle& request) { return request->number == number; };
  bool is_found = std::erase_if(waiting_, is_it) > 0;
  for (const RequestHandle& request : begun) {
    if (!is_it(request)) continue;
    request->is_gone = true;
    is_found = true;
  }
  forget_ended();
  admit();
  return is_found;
}

// Gives the memory of those that have ended back.
void RequestBatch::State::forget_ended() {
  std::erase_if(newcomers_, [](const Newcomer& newcomer) { return newcomer.request->is_gone; });
  std::vector<int64_t> rows;
  for (size_t row = 0; row < sequences_.size(); ++row) {
    if (sequences_[row].goes_on()) rows.push_back(static_cast<int64_t>(row));
  }
  if (rows.size() == sequences_.size()) return;
  std::erase_if(sequences_, [](const WrittenSequence& sequence) { return !sequence.goes_on(); });
  if (rows.empty()) {
    decoding_.reset();
  } else {
    decoding_->select(rows);
  }
}

RequestBatch::Load RequestBatch::State::load() const {
  Load load{.waiting = static_cast<int64_t>(waiting_.size()),
            .reading = static_cast<int64_t>(newcomers_.size()),
            .writing = static_cast<int64_t>(sequences_.size()),
            .reserved_bytes = reserved_bytes()};
  if (decoding_) load.cached_bytes += decoding_->cached_bytes();
  for (const Newcomer& newcomer : newcomers_) {
    if (newcomer.decoding) load.cached_bytes += newcomer.decoding->cached_bytes();
  }
  return load;
}

RequestBatch::RequestBatch(const Model& model, const BatchLimits& limits)
    : state_(std::make_unique<State>(model, limits)) {}

RequestBatch::~RequestBatch() = default;

uint64_t RequestBatch::add(GenerationRequest request) { return state_->add(std::move(request)); }

bool RequestBatch::drop(uint64_t request) { return state_->drop(request); }

std::vector<RequestEvent> RequestBatch::step(Context& context) { return state_->step(context); }

bool RequestBatch::is_idle() const { return state_->is_idle(); }

bool RequestBatch::is_full() const { return state_->is_full(); }

RequestBatch::Load RequestBatch::load() const { return state_->load(); }

uint64_t RequestBatch::bytes_needed(const GenerationRequest& request) const {
  return BatchRequest(state_->model(), request).bytes();
}

}  // namespace headlight::infer
