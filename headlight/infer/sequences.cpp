// Reading with and without a cache, and what prompts and endings must be.
#include "headlight/infer/sequences.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headlight/infer/padding.h"

namespace headlight::infer {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::Tensor;

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw Error(ErrorKind::bad_input, "generate", where, why);
}

void check_ids(const std::string& where, const std::vector<int64_t>& ids, int64_t vocab_size,
               int64_t context_length) {
  if (ids.empty()) refuse(where, "has no ids");
  if (static_cast<int64_t>(ids.size()) > context_length) {
    refuse(where, "has " + std::to_string(ids.size()) + " ids, the model's context is " +
                      std::to_string(context_length) + "; leave out " +
                      std::to_string(static_cast<int64_t>(ids.size()) - context_length));
  }
  for (const int64_t id : ids) {
    if (id >= 0 && id < vocab_size) continue;
    refuse(where, "id " + std::to_string(id) + " is not in the model's vocabulary of " +
                      std::to_string(vocab_size));
  }
}

std::optional<int64_t> start_id(const Model& model, const text::Tokenizer* tokenizer) {
  const models::SpecialIds& ids = model.special_ids();
  if (ids.decoder_start) return ids.decoder_start;
  if (ids.begin || tokenizer == nullptr) return ids.begin;
  return tokenizer->special().bos;
}

bool have_sources(const std::vector<Prompt>& prompts) {
  return std::ranges::any_of(prompts, [](const Prompt& prompt) { return !prompt.source.empty(); });
}

Tensor without(const Tensor& rows, const std::vector<int64_t>& banned) {
  if (banned.empty()) return rows;
  const float* first = rows.data<float>();
  Tensor left = Tensor::of(rows.shape(), std::vector<float>(first, first + rows.elements()));
  for (int64_t row = 0; row < left.size(0); ++row) {
    float* logits = left.mutable_data<float>() + row * left.size(1);
    for (const int64_t id : banned) logits[id] = -std::numeric_limits<float>::infinity();
  }
  return left;
}

PaddedIds padded_field(const std::vector<Prompt>& prompts, std::vector<int64_t> Prompt::*field) {
  std::vector<std::vector<int64_t>> lists;
  lists.reserve(prompts.size());
  for (const Prompt& prompt : prompts) lists.push_back(prompt.*field);
  return padded(lists);
}

}  // namespace

LogitRows::LogitRows(Context& context, const Model& model, const Tensor& rows)
    : logits(without(rows, model.special_ids().banned)),
      log_probabilities(autograd::log_softmax(context, autograd::Value::leaf(logits)).data()) {}

std::span<const float> LogitRows::row_of(const Tensor& rows, size_t row) {
  const auto width = static_cast<size_t>(rows.size(1));
  return {rows.data<float>() + row * width, width};
}

float LogitRows::log_probability(size_t row, int64_t id) const {
  const float result = row_of(log_probabilities, row)[static_cast<size_t>(id)];
  if (!std::isnan(result)) return result;
  throw Error(ErrorKind::failed, "generate", "probability of id " + std::to_string(id),
              "is not a number; the model's weights are too large or not finite");
}

Sequences::Sequences(Context& context, const Model& model, std::vector<Prompt> prompts,
                     bool use_cache, ReadPrompts* read_before)
    : context_(context),
      model_(model),
      sequences_(std::move(prompts)),
      read_before_(use_cache && sequences_.size() == 1 ? read_before : nullptr) {
  if (use_cache) decoding_.emplace(model.start(context, sources()));
}

models::Batch Sequences::sources() const {
  if (!have_sources(sequences_)) return {};
  const PaddedIds sources = padded_field(sequences_, &Prompt::source);
  return {.source_ids = sources.ids, .source_lens = sources.lens};
}

LogitRows Sequences::from_scratch() {
  models::Batch batch = sources();
  const PaddedIds read = padded_field(sequences_, &Prompt::ids);
  batch.ids = read.ids;
  batch.lens = read.lens;
  return {context_, model_, model_.next_logits(context_, batch)};
}

// All but the last ids of the prompts, as far as all have them; how many were read of each, or
// nothing when it was stopped.
std::optional<int64_t> Sequences::read_slices(const std::function<bool()>& is_stopped) {
  constexpr int64_t kSlice = 512;
  if (context_.observer != nullptr) return reused_;  // who looks sees the prompt as a whole
  int64_t shortest = INT64_MAX;
  for (const Prompt& prompt : sequences_) {
    shortest = std::min(shortest, static_cast<int64_t>(prompt.ids.size()));
  }
  int64_t read = reused_;
  for (; shortest - read > kSlice; read += kSlice) {
    if (is_stopped && is_stopped()) return std::nullopt;
    std::vector<std::vector<int64_t>> lists;
    for (const Prompt& prompt : sequences_) {
      const auto first = prompt.ids.begin() + read;
      lists.emplace_back(first, first + kSlice);
    }
    decoding_->states(context_, padded(lists).ids);
  }
  return read;
}

LogitRows Sequences::begin() { return *begin_unless({}); }

std::optional<LogitRows> Sequences::begin_unless(const std::function<bool()>& is_stopped) {
  if (!decoding_) return from_scratch();
  const ReadPrompts::Read* before =
      read_before_ != nullptr ? read_before_->find(sequences_[0].ids) : nullptr;
  if (before != nullptr) {
    decoding_ = before->decoding;
    reused_ = static_cast<int64_t>(before->ids.size());
  }
  if (read_before_ != nullptr) read_ids_ = sequences_[0].ids;
  const std::optional<int64_t> read = read_slices(is_stopped);
  if (!read || (is_stopped && is_stopped())) return std::nullopt;
  for (Prompt& prompt : sequences_)
    prompt.ids.erase(prompt.ids.begin(), prompt.ids.begin() + *read);
  const PaddedIds rest = padded_field(sequences_, &Prompt::ids);
  sequences_.clear();
  const Tensor rows = decoding_->read(context_, rest.ids, rest.lens);
  keep();
  return LogitRows(context_, model_, rows);
}

void Sequences::keep() const {
  if (read_before_ != nullptr) read_before_->keep(read_ids_, *decoding_);
}

LogitRows Sequences::read(std::span<const int64_t> ids) {
  if (decoding_) {
    const Tensor column = Tensor::of({static_cast<int64_t>(ids.size()), 1},
                                     std::vector<int64_t>(ids.begin(), ids.end()));
    const Tensor rows = decoding_->read(context_, column);
    if (read_before_ != nullptr) read_ids_.push_back(ids[0]);
    return {context_, model_, rows};
  }
  for (size_t b = 0; b < ids.size(); ++b) sequences_[b].ids.push_back(ids[b]);
  return from_scratch();
}

void Sequences::select(const std::vector<int64_t>& sequences) {
  if (decoding_) {
    decoding_->select(sequences);
    return;
  }
  std::vector<Prompt> selected;
  selected.reserve(sequences.size());
  for (const int64_t sequence : sequences) {
    selected.push_back(sequences_[static_cast<size_t>(sequence)]);
  }
  sequences_ = std::move(selected);
}

std::vector<Prompt> checked_prompts(const Model& model, const std::vector<Prompt>& prompts,
                                    const text::Tokenizer* tokenizer) {
  std::vector<Prompt> checked = prompts;
  const bool with_sources = have_sources(prompts);
  for (size_t i = 0; i < checked.size(); ++i) {
    Prompt& prompt = checked[i];
    const std::string number = checked.size() == 1 ? "" : " " + std::to_string(i);
    if (prompt.ids.empty()) {
      const auto start = start_id(model, tokenizer);
      if (!start) {
        refuse("prompt" + number,
               "is empty, and the model has no id to start with; give it a first token");
      }
      prompt.ids = {*start};
    }
    check_ids("prompt" + number, prompt.ids, model.vocab_size(), model.context_length());
    if (!with_sources) continue;
    check_ids("source" + number, prompt.source, model.source_vocab_size(), model.context_length());
  }
  return checked;
}

Ending checked_ending(const Model& model, const Ending& ending) {
  Ending checked = ending;
  const text::Tokenizer* tokenizer = ending.tokenizer;
  if (ending.max_new_tokens < 0 || ending.max_beyond_source < 0) {
    refuse("limit", std::to_string(std::min(ending.max_new_tokens, ending.max_beyond_source)) +
                        " new ids cannot be");
  }
  for (const std::string& stop : ending.stop_texts) {
    if (tokenizer == nullptr) refuse("stop text", "needs a tokenizer, the model has none");
    if (stop.empty() || io::valid_utf8_length(stop) != stop.size()) {
      refuse("stop text", "must not be empty, and must be UTF-8");
    }
  }
  if (checked.stop_ids) return checked;
  checked.stop_ids.emplace();
  const models::SpecialIds& ids = model.special_ids();
  if (ids.end) checked.stop_ids->push_back(*ids.end);
  checked.stop_ids->insert(checked.stop_ids->end(), ids.other_ends.begin(), ids.other_ends.end());
  if (tokenizer != nullptr && tokenizer->special().eos) {
    checked.stop_ids->push_back(*tokenizer->special().eos);
  }
  return checked;
}

bool is_stop_id(const Ending& ending, int64_t id) {
  return std::ranges::find(*ending.stop_ids, id) != ending.stop_ids->end();
}

Limit wanted_limit(const Ending& ending, const Prompt& prompt) {
  const auto source = static_cast<int64_t>(prompt.source.size());
  const int64_t wanted = std::min(
      ending.max_new_tokens,
      ending.max_beyond_source > kNoLimit - source ? kNoLimit : ending.max_beyond_source + source);
  return {wanted, StopReason::limit};
}

Limit limit_of(const Model& model, const Ending& ending, const Prompt& prompt) {
  // The last new id is not read any more.
  const int64_t room = model.context_length() - static_cast<int64_t>(prompt.ids.size()) + 1;
  const Limit wanted = wanted_limit(ending, prompt);
  return room < wanted.count ? Limit{room, StopReason::context} : wanted;
}

}  // namespace headlight::infer
