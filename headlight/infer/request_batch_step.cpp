// A step of a RequestBatch: one id more of all that is written, then a turn of the newcomers.
#include <algorithm>
#include <iterator>
#include <new>
#include <numeric>
#include <utility>

#include "headlight/infer/padding.h"
#include "headlight/infer/request_batch_state.h"

namespace headlight::infer {

using autograd::Value;
using base::Error;
using models::Decoding;
using tensor::Tensor;

// The next id of a sequence, or why there is none.
struct RequestBatch::State::Choice {
  ScoredToken token = {};
  std::optional<Error> error = {};
};

// What `work` throws becomes the error of these requests.
template <class Work>
void RequestBatch::State::attempt(const std::vector<RequestHandle>& requests, const Work& work) {
  std::optional<Error> error;
  try {
    work();
  } catch (const Error& thrown) {
    error = thrown;
  } catch (const std::bad_alloc&) {
    error.emplace(base::ErrorKind::out_of_memory, "request", "", "not enough memory for a step");
  }
  if (!error) return;
  for (const RequestHandle& request : requests) fail(request, *error);
}

void RequestBatch::State::fail(const RequestHandle& request, const Error& error) {
  if (request->is_gone) return;
  request->is_gone = true;
  events_.push_back({.request = request->number, .error = error, .is_last = true});
}

std::vector<RequestEvent> RequestBatch::State::step(Context& context) {
  events_.clear();
  write(context);
  end_those_without_ids();
  Turn turn = next_turn();
  std::vector<RequestHandle> readers;
  for (const Newcomer& newcomer : turn.newcomers) readers.push_back(newcomer.request);
  if (!readers.empty()) attempt(readers, [&] { read(context, turn); });
  forget_ended();
  admit();
  return std::move(events_);
}

void RequestBatch::State::write(Context& context) {
  if (sequences_.empty()) return;
  std::vector<RequestHandle> requests;
  std::vector<int64_t> ids;
  for (const WrittenSequence& sequence : sequences_) {
    requests.push_back(sequence.request);
    ids.push_back(sequence.last_id);
  }
  attempt(requests, [&] {
    const auto count = static_cast<int64_t>(ids.size());
    const LogitRows rows(context, model_, decoding_->read(context, Tensor::of({count, 1}, ids)));
    std::vector<int64_t> row_of(ids.size());
    std::iota(row_of.begin(), row_of.end(), 0);
    choose(context, sequences_, rows, row_of);
  });
  forget_ended();
}

// Rows are independent of each other, so that each may be on any thread.
void RequestBatch::State::choose(Context& context, std::vector<WrittenSequence>& sequences,
                                 const LogitRows& rows, const std::vector<int64_t>& row_of) {
  std::vector<Choice> choices(sequences.size());
  context.threads.parallel_for(static_cast<int64_t>(sequences.size()), [&](int64_t index, int) {
    const auto i = static_cast<size_t>(index);
    const auto row = static_cast<size_t>(row_of[i]);
    const WrittenSequence& sequence = sequences[i];
    const BatchRequest& request = *sequence.request;
    const Sampler::Draw draw{.sequence = request.asked.first_sequence + sequence.number,
                             .position = sequence.writing.new_count()};
    try {
      const int64_t id =
          request.sampler.choose(rows.logits_of(row), sequence.writing.history(), draw);
      choices[i].token = scored_token(rows, row, id, request.asked.top_log_probabilities);
    } catch (const Error& error) {
      choices[i].error = error;
    }
  });
  for (size_t i = 0; i < sequences.size(); ++i) take(sequences[i], std::move(choices[i]));
}

void RequestBatch::State::take(WrittenSequence& sequence, Choice choice) {
  BatchRequest& request = *sequence.request;
  if (request.is_gone) return;
  if (choice.error) {
    fail(sequence.request, *choice.error);
    return;
  }
  sequence.last_id = choice.token.id;
  Writing::Added added = sequence.writing.add(choice.token.id);
  sequence.has_ended = added.reason.has_value();
  if (sequence.has_ended) --request.going_on;
  events_.push_back({.request = request.number,
                     .continuation = sequence.number,
                     .token = std::move(choice.token),
                     .is_stop = added.is_stop,
                     .text = std::move(added.text),
                     .reason = added.reason,
                     .is_last = request.going_on == 0});
}

// All continuations of a request, none of which gets an id.
void RequestBatch::State::end(const RequestHandle& request) {
  for (int64_t number = 0; number < request->asked.continuations; ++number) {
    --request->going_on;
    events_.push_back({.request = request->number,
                       .continuation = static_cast<size_t>(number),
                       .reason = request->limit.reason,
                       .is_last = request->going_on == 0});
  }
  request->is_gone = true;
}

void RequestBatch::State::end_those_without_ids() {
  for (const Newcomer& newcomer : newcomers_) {
    if (newcomer.request->most_ids() == 0) end(newcomer.request);
  }
  forget_ended();
}

// The first in line, and those behind it whose rows fit beside its own: all of them at their
// beginning, or all on their way.
RequestBatch::State::Turn RequestBatch::State::next_turn() {
  Turn turn;
  int64_t longest = 0;
  int64_t longest_source = 0;
  for (auto next = newcomers_.begin(); next != newcomers_.end();) {
    const bool is_first = turn.newcomers.empty();
    if (!is_first && next->decoding.has_value() != turn.newcomers[0].decoding.has_value()) {
      ++next;
      continue;
    }
    const Prompt& prompt = next->request->asked.prompt;
    const int64_t count = std::min(next->request->prompt_size() - next->read, limits_.prompt_ids);
    longest = std::max(longest, count);
    if (!next->decoding) {
      longest_source = std::max(longest_source, static_cast<int64_t>(prompt.source.size()));
    }
    const auto rows = static_cast<int64_t>(turn.newcomers.size()) + 1;
    if (!is_first && rows * (longest + longest_source) > limits_.prompt_ids) break;
    const auto first = prompt.ids.begin() + next->read;
    turn.ids.emplace_back(first, first + count);
    turn.newcomers.push_back(std::move(*next));
    next = newcomers_.erase(next);
  }
  return turn;
}

Decoding RequestBatch::State::joined(Context& context, const Turn& turn) const {
  if (turn.newcomers[0].decoding) {
    Decoding decoding = *turn.newcomers[0].decoding;
    for (size_t i = 1; i < turn.newcomers.size(); ++i) {
      decoding.join(*turn.newcomers[i].decoding);
    }
    return decoding;
  }
  if (!model_.capabilities().translates) return model_.start(context);
  std::vector<std::vector<int64_t>> lists;
  for (const Newcomer& newcomer : turn.newcomers) {
    lists.push_back(newcomer.request->asked.prompt.source);
  }
  const PaddedIds sources = padded(lists);
  return model_.start(context, {.source_ids = sources.ids, .source_lens = sources.lens});
}

// Those who have more to read go to the end of the line.
void RequestBatch::State::read(Context& context, Turn& turn) {
  Decoding decoding = joined(context, turn);
  for (Newcomer& newcomer : turn.newcomers) newcomer.decoding.reset();
  const PaddedIds ids = padded(turn.ids);
  const Value states = decoding.states(context, ids.ids, ids.lens);
  bool has_whole_prompt = false;
  for (size_t i = 0; i < turn.newcomers.size(); ++i) {
    Newcomer& newcomer = turn.newcomers[i];
    const auto row = static_cast<int64_t>(i);
    const auto count = static_cast<int64_t>(turn.ids[i].size());
    if (newcomer.request->asked.prompt_log_probabilities) {
      attempt({newcomer.request},
              [&] { score(context, newcomer, states.data().slice(0, row, 1).slice(1, 0, count)); });
    }
    newcomer.read += count;
    has_whole_prompt |= newcomer.read == newcomer.request->prompt_size();
  }
  if (has_whole_prompt) {
    const Value last = models::last_rows(context, states, ids.lens);
    begin(context, turn, model_.logits(context, last).data(), decoding);
  }
  for (size_t i = 0; i < turn.newcomers.size(); ++i) {
    Newcomer& newcomer = turn.newcomers[i];
    if (newcomer.read == newcomer.request->prompt_size()) continue;
    newcomer.decoding = decoding;
    newcomer.decoding->select(std::vector<int64_t>{static_cast<int64_t>(i)});
    newcomers_.push_back(std::move(newcomer));
  }
}

// `states` (1, T, C) are those after the ids of this turn.
void RequestBatch::State::score(Context& context, Newcomer& newcomer, const Tensor& states) {
  const BatchRequest& request = *newcomer.request;
  const std::vector<int64_t>& ids = request.asked.prompt.ids;
  const int64_t count = std::min(states.size(1), request.prompt_size() - newcomer.read - 1);
  if (count == 0) return;
  const Tensor before = states.slice(1, 0, count).contiguous();
  const Tensor logits = model_.logits(context, Value::leaf(before)).data();
  const LogitRows rows(context, model_, logits.reshaped({count, logits.size(2)}));
  for (int64_t row = 0; row < count; ++row) {
    newcomer.scores.push_back(scored_token(rows, static_cast<size_t>(row),
                                           ids[static_cast<size_t>(newcomer.read + row + 1)],
                                           request.asked.top_log_probabilities));
  }
}

// Continuations of the prompts that have been read, with their first ids. `logits` and `decoding`
// have a row for each newcomer of the turn.
void RequestBatch::State::begin(Context& context, const Turn& turn, const Tensor& logits,
                                Decoding& decoding) {
  std::vector<WrittenSequence> begun;
  std::vector<int64_t> row_of;
  for (size_t i = 0; i < turn.newcomers.size(); ++i) {
    const Newcomer& newcomer = turn.newcomers[i];
    const RequestHandle& request = newcomer.request;
    if (newcomer.read < request->prompt_size() || request->is_gone) continue;
    if (request->asked.prompt_log_probabilities) {
      events_.push_back({.request = request->number, .prompt = newcomer.scores});
    }
    if (request->limit.count == 0) end(request);
    for (int64_t number = 0; number < request->going_on; ++number) {
      begun.push_back(
          {.request = request,
           .number = static_cast<size_t>(number),
           .writing = Writing(request->asked.ending, request->asked.prompt.ids, request->limit)});
      row_of.push_back(static_cast<int64_t>(i));
    }
  }
  choose(context, begun, LogitRows(context, model_, logits), row_of);
  std::vector<int64_t> rows;
  for (size_t i = 0; i < begun.size(); ++i) {
    if (begun[i].goes_on()) rows.push_back(row_of[i]);
  }
  if (rows.empty()) return;
  std::erase_if(begun, [](const WrittenSequence& sequence) { return !sequence.goes_on(); });
  Decoding started = decoding;
  started.select(rows);
  if (decoding_) {
    decoding_->join(started);
  } else {
    decoding_ = std::move(started);
  }
  std::ranges::move(begun, std::back_inserter(sequences_));
}

}  // namespace headlight::infer
