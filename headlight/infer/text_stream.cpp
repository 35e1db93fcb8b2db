// Looking for stop texts where they may lie across the ids' borders.
#include "headlight/infer/text_stream.h"

#include <algorithm>

namespace headlight::infer {
namespace {

// Bytes at the end of `text` that may be the beginning of `stop`.
size_t started_length(std::string_view text, std::string_view stop) {
  for (size_t size = std::min(text.size(), stop.size() - 1); size > 0; --size) {
    if (text.substr(text.size() - size) == stop.substr(0, size)) return size;
  }
  return 0;
}

}  // namespace

TextStream::TextStream(const Ending& ending, const std::vector<int64_t>& prompt)
    : ending_(&ending) {
  if (ending.tokenizer == nullptr) return;
  decoder_.emplace(*ending.tokenizer, text::DecodeOptions{.special = false});
  for (const int64_t id : prompt) {
    if (id < ending.tokenizer->size()) decoder_->add(id);
  }
}

std::string TextStream::add(int64_t id) {
  // Some models have more ids than their tokenizer; those have no text.
  if (!decoder_ || is_stopped_ || id >= ending_->tokenizer->size()) return {};
  held_ += decoder_->add(id);
  return release(false);
}

std::string TextStream::finish() {
  if (!decoder_ || is_stopped_) return {};
  held_ += decoder_->finish();
  return release(true);
}

std::string TextStream::release(bool is_last) {
  size_t certain = std::string::npos;
  // A stop text ends a continuation though more bytes might change how its own are shown.
  const std::string waiting_bytes =
      is_last || ending_->stop_texts.empty() ? std::string() : decoder_->waiting();
  if (!waiting_bytes.empty()) {
    const std::string all = held_ + waiting_bytes;
    for (const std::string& stop : ending_->stop_texts) {
      if (all.find(stop) != std::string::npos) held_ = all;
    }
  }
  for (const std::string& stop : ending_->stop_texts) {
    certain = std::min(certain, held_.find(stop));
  }
  is_stopped_ = certain != std::string::npos;
  if (!is_stopped_) {
    size_t waiting = 0;
    for (const std::string& stop : ending_->stop_texts) {
      if (!is_last) waiting = std::max(waiting, started_length(held_, stop));
    }
    certain = held_.size() - waiting;
  }
  std::string text = held_.substr(0, certain);
  held_.erase(0, is_stopped_ ? held_.size() : certain);
  return text;
}

}  // namespace headlight::infer
