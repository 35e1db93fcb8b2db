// Entries wait until their text is certain.
#include "apps/server/openai/choice_text.h"

namespace headlight::server::openai {

ChoiceText::ChoiceText(TokenTexts texts, std::vector<int64_t> prompt, ChoiceOptions options)
    : texts_(texts), prompt_(std::move(prompt)), options_(std::move(options)) {
  if (texts_.tokenizer() != nullptr) {
    decoder_.emplace(*texts_.tokenizer(), text::DecodeOptions{.special = false});
  }
}

// Reads an id on, as the text of the answer is decoded.
void ChoiceText::read(int64_t id) {
  if (!texts_.adds_text(id)) return;
  const std::string added = decoder_ ? decoder_->add(id) : texts_.text_of(id, is_first_).token;
  is_first_ = false;
  letters_ += code_points(added);
  decoded_ += added.size();
}

TokenEntry ChoiceText::take(const infer::ScoredToken& token) {
  TokenEntry entry;
  entry.text = texts_.text_of(token.id, is_first_);
  entry.log_probability = token.log_probability;
  entry.offset = letters_;
  for (const infer::ScoredId& other : token.top) {
    entry.alternatives.push_back({texts_.text_of(other.id, is_first_), other.log_probability});
  }
  read(token.id);
  return entry;
}

ChoicePiece ChoiceText::begin(const std::vector<infer::ScoredToken>& prompt_scores) {
  ChoicePiece piece;
  if (options_.echo) piece.text = *options_.echo;
  if (!follows_tokens()) return piece;
  // Without a tokenizer the answer is ids alone, as if nothing stood before them.
  const bool goes_on = decoder_.has_value() || options_.echo.has_value();
  for (size_t i = 0; i < prompt_.size() && goes_on; ++i) {
    if (!options_.echo || !options_.is_scored) {
      read(prompt_[i]);
      continue;
    }
    const bool has_score = i > 0 && i - 1 < prompt_scores.size();
    TokenEntry entry = take(has_score ? prompt_scores[i - 1] : infer::ScoredToken{prompt_[i]});
    if (!has_score) entry.log_probability.reset();
    piece.entries.push_back(std::move(entry));
  }
  decoded_ = 0;
  return piece;
}

ChoicePiece ChoiceText::add(const infer::RequestEvent& event) {
  ChoicePiece piece{.text = event.text, .reason = event.reason};
  if (event.token && !event.is_stop) {
    ++tokens_;
    if (!decoder_) piece.text = texts_.text_of(event.token->id, is_first_).token;
    const size_t begin = decoded_;
    if (options_.is_scored) {
      waiting_.push_back({take(*event.token), begin});
    } else if (follows_tokens()) {
      read(event.token->id);
    }
  }
  released_ += piece.text.size();
  const bool all = piece.reason && *piece.reason != infer::StopReason::stop_text;
  while (!waiting_.empty() && (all || waiting_.front().begin < released_)) {
    piece.entries.push_back(std::move(waiting_.front().entry));
    waiting_.pop_front();
  }
  return piece;
}

std::string_view finish_reason(infer::StopReason reason) {
  using infer::StopReason;
  return reason == StopReason::end || reason == StopReason::stop_text ? "stop" : "length";
}

}  // namespace headlight::server::openai
