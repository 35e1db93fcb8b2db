// Decoders of tokenizer.json, read, and the steps that look at one token.
#include "headlight/text/joiner.h"

#include <utility>

#include "headlight/text/byte_alphabet.h"
#include "headlight/text/clean_up.h"
#include "headlight/text/growth.h"
#include "headlight/text/sentence_piece_text.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::string_view kReadJoiners =
    "ByteLevel, Metaspace, WordPiece, Replace, ByteFallback, Fuse, Strip and a Sequence of them";
constexpr size_t kLongestJoined = 16'000'000;  // bytes, after replacements

void substitute(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// As BERT's decoder tidies.
std::string tidied(std::string text) {
  text = cleaned_up(std::move(text));
  substitute(text, " do not", " don't");
  return text;
}

}  // namespace

std::optional<unsigned char> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return std::nullopt;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const char small = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') {
      value = value * 16 + (c - '0');
    } else if (small >= 'a' && small <= 'f') {
      value = value * 16 + (small - 'a' + 10);
    } else {
      return std::nullopt;
    }
  }
  return static_cast<unsigned char>(value);
}

std::string byte_token(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">";
}

std::optional<unsigned char> byte_of_piece(std::string_view piece) {
  const auto byte = byte_of_token(piece);
  return byte && byte_token(*byte) == piece ? byte : std::nullopt;
}

Joiner::Joiner(const Component& component) {
  if (component.is_absent()) {
    end_ = End::spaced;
  } else {
    add_component(component);
  }
}

void Joiner::add_component(const Component& component) {
  const std::string& type = component.type();
  std::vector<Step>& steps = falls_back_ ? later_ : steps_;
  if (end_ != End::fused) component.refuse("nothing is read after ByteLevel");
  if (is_fused_ && type != "Strip" && type != "Fuse") {
    component.refuse("after Fuse only Strip is read");
  }
  if (type == "ByteLevel") {
    if (falls_back_) component.refuse("it is not read after ByteFallback");
    end_ = End::byte_level;
  } else if (type == "Fuse") {
    is_fused_ = true;
  } else if (type == "ByteFallback") {
    if (falls_back_) component.refuse("stands twice");
    falls_back_ = true;
  } else if (type == "Replace") {
    if (component.find("content") == nullptr) component.refuse("\"content\" is missing");
    steps.push_back({.kind = Kind::replace,
                     .pattern = std::make_optional<Pattern>(component),
                     .content = component.text("content", "")});
  } else if (type == "Metaspace") {
    const bool has_scheme = component.find("prepend_scheme") != nullptr;
    const bool prepends = has_scheme ? component.text("prepend_scheme", "always") != "never"
                                     : component.flag("add_prefix_space", true);
    steps.push_back({.kind = Kind::metaspace,
                     .content = component.character("replacement", kSpaceSymbol),
                     .is_set = prepends});
  } else if (type == "WordPiece") {
    steps.push_back({.kind = Kind::word_piece,
                     .content = component.text("prefix", "##"),
                     .is_set = component.flag("cleanup", true)});
  } else if (type == "Strip") {
    add_strip(component);
  } else if (type == kSentencePiece) {
    end_ = End::sentence_piece;
    falls_back_ = component.flag("byte_fallback", false);
    takes_all_spaces_ = component.flag("remove_extra_whitespaces", true);
    takes_space_ = takes_all_spaces_ || component.flag("add_dummy_prefix", true);
    is_trimmed_ = component.flag("trimmed", false);
  } else if (type == "Sequence") {
    for (const io::Json& part : component.array("decoders")) {
      const Component step(part, "decoder", component.name());
      if (step.is_absent()) component.refuse("one of its steps is null");
      add_component(step);
    }
  } else {
    component.refuse_type(kReadJoiners);
  }
  component.check_steps(steps_.size() + later_.size());
}

void Joiner::add_strip(const Component& component) {
  const Step step{.kind = Kind::strip,
                  .content = component.character("content", ""),
                  .start = component.integer("start", 0),
                  .stop = component.integer("stop", 0)};
  constexpr int64_t kMost = 1000;
  if (step.start < 0 || step.stop < 0 || step.start > kMost || step.stop > kMost) {
    component.refuse("\"start\" or \"stop\" is not from 0 to " + std::to_string(kMost));
  }
  if (!is_fused_) {
    (falls_back_ ? later_ : steps_).push_back(step);
  } else if (at_ends_) {
    component.refuse("stands twice after Fuse");
  } else {
    at_ends_ = step;
  }
}

std::string Joiner::changed(const Step& step, std::string text, bool is_first) const {
  switch (step.kind) {
    case Kind::replace:
      return step.pattern->replaced(text, step.content, kLongestJoined);
    case Kind::metaspace:
      substitute(text, step.content, is_first && step.is_set ? "" : " ");
      return text;
    case Kind::word_piece:
      if (!is_first) {
        const bool goes_on = text.starts_with(step.content);
        text.replace(0, goes_on ? step.content.size() : 0, goes_on ? "" : " ");
      }
      return step.is_set ? tidied(std::move(text)) : text;
    case Kind::strip: {
      std::string_view rest = text;
      for (int64_t i = 0; i < step.start && rest.starts_with(step.content); ++i) {
        rest.remove_prefix(step.content.size());
      }
      for (int64_t i = 0; i < step.stop && rest.ends_with(step.content); ++i) {
        rest.remove_suffix(step.content.size());
      }
      return std::string(rest);
    }
  }
  return text;
}

std::string Joiner::applied(const std::vector<Step>& steps, std::string text, bool is_first) const {
  for (const Step& step : steps) {
    text = changed(step, std::move(text), is_first);
    check_growth(text, kLongestJoined);
  }
  return text;
}

std::string Joiner::bytes_of(const std::string& token, bool is_first, bool is_special) const {
  if (end_ == End::spaced) return (is_first ? "" : " ") + token;
  if (is_special && end_ == End::sentence_piece) return token;
  std::string text = applied(steps_, token, is_first);
  if (is_byte_level()) return bytes_of_token(text).value_or(text);
  const auto byte_of = end_ == End::sentence_piece ? byte_of_piece : byte_of_token;
  const auto byte = falls_back_ ? byte_of(text) : std::nullopt;
  if (byte) return std::string(1, static_cast<char>(*byte));
  if (end_ == End::sentence_piece) {
    JoinState state{.is_stripping = is_first};
    return add_piece(state, text, false) + state.held;
  }
  text = applied(later_, std::move(text), is_first);
  if (at_ends_ && is_first) {
    text = changed({.kind = Kind::strip, .content = at_ends_->content, .start = at_ends_->start},
                   std::move(text), true);
  }
  return text;
}

}  // namespace headlight::text
