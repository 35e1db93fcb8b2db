// Joining tokens as they come.
#include <utility>

#include "headlight/io/io.h"
#include "headlight/text/byte_alphabet.h"
#include "headlight/text/joiner.h"
#include "headlight/text/repair.h"
#include "headlight/text/sentence_piece_text.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";

// Where the white space at the end begins.
size_t end_without_space(std::string_view text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    at += point.length;
    if (!is_white_space(point.value)) end = at;
  }
  return end;
}

size_t length_of_space(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = code_point_at(text, at);
    if (!is_white_space(point.value)) break;
    at += point.length;
  }
  return at;
}

// Bytes that are left when no more come.
std::string rest_of(std::string& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) text += kReplacement;
  bytes.clear();
  return text;
}

std::string with_spaces(std::string_view piece) {
  std::string text;
  for (size_t at = 0; at < piece.size();) {
    if (piece.substr(at).starts_with(kSpaceSymbol)) {
      text += ' ';
      at += kSpaceSymbol.size();
    } else {
      text += piece[at++];
    }
  }
  return text;
}

}  // namespace

// Bytes that are UTF-8 together are one token, others a token each.
void Joiner::end_bytes(JoinState& state, std::string& text) const {
  if (state.bytes.empty()) return;
  std::string bytes = std::move(state.bytes);
  state.bytes.clear();
  if (io::valid_utf8_length(bytes) == bytes.size()) return pass_on(state, std::move(bytes), text);
  for (size_t i = 0; i < bytes.size(); ++i) pass_on(state, std::string(kReplacement), text);
}

void Joiner::pass_on(JoinState& state, std::string token, std::string& text) const {
  text += applied(later_, std::move(token), state.is_first_joined);
  state.is_first_joined = false;
}

std::string Joiner::add(JoinState& state, const std::string& token, bool is_special) const {
  const bool is_first = std::exchange(state.is_first, false);
  if (end_ == End::sentence_piece) return add_piece(state, token, is_special);
  if (end_ == End::spaced || is_byte_level()) {
    state.unfinished += bytes_of(token, is_first, is_special);
    return take_utf8(state.unfinished);
  }
  std::string text;
  std::string changed = applied(steps_, token, is_first);
  const auto byte = falls_back_ ? byte_of_token(changed) : std::nullopt;
  if (byte) {
    state.bytes += static_cast<char>(*byte);
    return text;
  }
  end_bytes(state, text);
  pass_on(state, std::move(changed), text);
  return stripped(state, std::move(text));
}

std::string Joiner::finish(JoinState& state) const {
  std::string text;
  if (end_ == End::sentence_piece) {
    text = rest_of(state.bytes);
    if (!text.empty()) text.insert(0, state.held);
  } else {
    end_bytes(state, text);
    text = stripped(state, std::move(text));
    if (!state.unfinished.empty()) text += kReplacement;
  }
  state = {};
  return text;
}

// What is stripped from the front goes as it comes; what may be stripped from the end is held until
// more follows.
std::string Joiner::stripped(JoinState& state, std::string text) const {
  if (!at_ends_) return text;
  const std::string& content = at_ends_->content;
  while (state.is_stripping && state.stripped < at_ends_->start && text.starts_with(content)) {
    text.erase(0, content.size());
    ++state.stripped;
  }
  if (!text.empty()) state.is_stripping = false;
  text.insert(0, state.held);
  size_t end = text.size();
  for (int64_t i = 0;
       i < at_ends_->stop && std::string_view(text).substr(0, end).ends_with(content); ++i) {
    end -= content.size();
  }
  state.held = text.substr(end);
  text.resize(end);
  return text;
}

// SentencePiece takes the space away that it puts before a text, and shows bytes that are no text
// one by one.
std::string Joiner::add_piece(JoinState& state, std::string_view token, bool is_special) const {
  std::string text;
  const auto byte = falls_back_ && !is_special ? byte_of_piece(token) : std::nullopt;
  if (byte) {
    state.bytes += static_cast<char>(*byte);
    text = take_utf8_by_bytes(state.bytes);
  } else {
    text = rest_of(state.bytes);
    if (state.took_space || state.has_text || !text.empty()) state.is_stripping = false;
    if (!is_special && state.is_stripping && takes_space_ && token.starts_with(kSpaceSymbol)) {
      token.remove_prefix(kSpaceSymbol.size());
      state.took_space = !takes_all_spaces_;
    }
    text += is_special ? std::string(token) : with_spaces(token);
  }
  state.has_text |= !text.empty();
  return is_trimmed_ ? trimmed(state, std::move(text), is_special) : text;
}

// No white space at both ends, and a space after a special token, as transformers has it for
// Marian.
std::string Joiner::trimmed(JoinState& state, std::string text, bool is_special) const {
  if (is_special) {
    text += ' ';
    state.has_text = state.took_space = false;
    state.is_stripping = true;
  }
  if (!state.has_output) text.erase(0, length_of_space(text));
  const size_t end = end_without_space(text);
  if (end == 0) {
    state.held += text;
    return "";
  }
  state.has_output = true;
  std::string given = std::exchange(state.held, text.substr(end));
  return given.append(text, 0, end);
}

}  // namespace headlight::text
