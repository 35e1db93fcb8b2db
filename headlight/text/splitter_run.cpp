// Pre-tokenizers of tokenizer.json, run: each step splits the pieces of the one before it.
#include <algorithm>

#include "headlight/text/byte_alphabet.h"
#include "headlight/text/hugging_face_unicode.h"
#include "headlight/text/splitter.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

// One piece for each longest run of code points of the same class; class 0 is left out, and class 1
// is never a run.
template <class Classify, class Take>
void split_by(std::string_view text, const Classify& classify, const Take& take) {
  size_t begin = 0;
  int kind = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    const int next = classify(point.value);
    if (next != kind || next == 1) {
      if (kind != 0) take(text.substr(begin, at - begin));
      begin = at;
      kind = next;
    }
    at += point.length;
  }
  if (kind != 0) take(text.substr(begin));
}

int word_class(char32_t c) { return is_white_space(c) ? 0 : is_word(c) ? 2 : 3; }
int white_space_class(char32_t c) { return is_white_space(c) ? 0 : 2; }
int character_class(char32_t) { return 1; }

bool is_mark_to_bert(char32_t c) {
  constexpr std::string_view kAsciiSymbols = "$+<=>^`|~";
  if (c < 0x80 && kAsciiSymbols.find(static_cast<char>(c)) != kAsciiSymbols.npos) return true;
  return hugging_face::is_punctuation(c);
}

int bert_class(char32_t c) { return is_white_space(c) ? 0 : is_mark_to_bert(c) ? 1 : 2; }

// Stretches of single code points that are of a kind, and what is between them.
template <class Take>
void divide_by(std::string_view text, bool (*is_it)(char32_t), const Take& take) {
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (is_it(point.value)) {
      if (at > begin) take(begin, at, false);
      take(at, at + point.length, true);
      begin = at + point.length;
    }
    at += point.length;
  }
  if (begin < text.size()) take(begin, text.size(), false);
}

std::string replaced(std::string_view text, char from, std::string_view to) {
  std::string result;
  result.reserve(text.size() + text.size() / 2);
  for (const char c : text) {
    if (c == from) {
      result += to;
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

// Stretches as pieces: what is found may join its neighbours.
template <class Take>
class SplitPieces {
 public:
  SplitPieces(std::string_view text, SplitBehavior behavior, const Take& take)
      : text_(text), behavior_(behavior), take_(take) {}

  void add(size_t begin, size_t end, bool is_match) {
    if (joins(is_match)) {
      end_ = end;
      // A third one does not follow a match and what it was joined to.
      was_match_ = behavior_ == SplitBehavior::merged_with_next ? false : is_match;
      return;
    }
    finish();
    begin_ = begin;
    end_ = behavior_ == SplitBehavior::removed && is_match ? begin : end;
    is_open_ = true;
    was_match_ = is_match;
  }
  void finish() {
    if (end_ > begin_) take_(text_.substr(begin_, end_ - begin_), begin_);
    begin_ = end_;
  }

 private:
  bool joins(bool is_match) const {
    if (!is_open_) return false;
    switch (behavior_) {
      case SplitBehavior::contiguous:
        return is_match == was_match_;
      case SplitBehavior::merged_with_previous:
        return is_match && !was_match_;
      case SplitBehavior::merged_with_next:
        return !is_match && was_match_;
      default:
        return false;
    }
  }

  std::string_view text_;
  SplitBehavior behavior_;
  const Take& take_;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool is_open_ = false;
  bool was_match_ = false;
};

class Splitter::Run {
 public:
  Run(const std::vector<Step>& steps, const PieceTaker& take) : steps_(steps), take_(take) {}

  void split(size_t step, std::string_view text, bool is_beginning) const {
    if (text.empty()) return;
    if (step == steps_.size()) return take_(text);
    const auto pass = [&](std::string_view piece) {
      split(step + 1, piece, is_beginning && piece.data() == text.data());
    };
    switch (steps_[step].kind) {
      case Kind::prefix_space:
        return with_prefix_space(step, text, is_beginning);
      case Kind::gpt2:
        return split_as_gpt2(text, pass);
      case Kind::byte_letters:
        return with_letters(step, text, is_beginning);
      case Kind::white_space:
        return split_by(text, white_space_class, pass);
      case Kind::words:
        return split_by(text, word_class, pass);
      case Kind::bert:
        return split_by(text, bert_class, pass);
      case Kind::characters:
        return split_by(text, character_class, pass);
      case Kind::metaspace:
        return with_metaspace(step, text, is_beginning);
      case Kind::digits:
      case Kind::punctuation:
      case Kind::pattern:
        return split_where(step, text, is_beginning);
    }
  }

 private:
  void with_prefix_space(size_t step, std::string_view text, bool is_beginning) const {
    if (text.starts_with(' ')) return split(step + 1, text, is_beginning);
    split(step + 1, std::string(" ").append(text), is_beginning);
  }

  void with_letters(size_t step, std::string_view text, bool is_beginning) const {
    std::string letters;
    for (const char c : text) letters += byte_character(static_cast<unsigned char>(c));
    split(step + 1, letters, is_beginning);
  }

  void with_metaspace(size_t step, std::string_view text, bool is_beginning) const {
    const Step& settings = steps_[step];
    std::string changed = text::replaced(text, ' ', settings.replacement);
    const bool prepends =
        settings.scheme == Scheme::always || (settings.scheme == Scheme::first && is_beginning);
    if (prepends && !changed.starts_with(settings.replacement)) {
      changed.insert(0, settings.replacement);
    }
    if (!settings.splits) return split(step + 1, changed, is_beginning);
    const auto pass = [&](std::string_view piece, size_t begin) {
      split(step + 1, piece, is_beginning && begin == 0);
    };
    SplitPieces pieces(changed, SplitBehavior::merged_with_next, pass);
    size_t begin = 0;
    for (size_t at; (at = changed.find(settings.replacement, begin)) != changed.npos;
         begin = at + settings.replacement.size()) {
      if (at > begin) pieces.add(begin, at, false);
      pieces.add(at, at + settings.replacement.size(), true);
    }
    if (begin < changed.size()) pieces.add(begin, changed.size(), false);
    pieces.finish();
  }

  void split_where(size_t step, std::string_view text, bool is_beginning) const {
    const Step& settings = steps_[step];
    const auto pass = [&](std::string_view piece, size_t begin) {
      split(step + 1, piece, is_beginning && begin == 0);
    };
    SplitPieces pieces(text, settings.behavior, pass);
    const auto add = [&](size_t begin, size_t end, bool is_match) {
      pieces.add(begin, end, is_match != settings.is_inverted);
    };
    if (settings.kind == Kind::digits) {
      divide_by(text, is_number, add);
    } else if (settings.kind == Kind::punctuation) {
      divide_by(text, is_mark_to_bert, add);
    } else {
      settings.pattern->divide(text, add);
    }
    pieces.finish();
  }

  const std::vector<Step>& steps_;
  const PieceTaker& take_;
};

void Splitter::split(std::string_view text, bool is_beginning, const PieceTaker& take) const {
  Run(steps_, take).split(0, text, is_beginning);
}

}  // namespace headlight::text
