// Running patterns, by PCRE2 where they are regular expressions.
#include "headlight/text/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <cstdlib>

#include "headlight/text/growth.h"
#include "headlight/text/pattern_syntax.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr size_t kLongestExpression = 10'000;  // bytes
constexpr uint32_t kHeapLimit = 64 * 1024;     // KiB
constexpr int64_t kFreeSteps = 1'000'000;      // however short the text is
constexpr int64_t kStepsPerByte = 32;          // the published expressions take fewer than ten

const std::string* member(const io::Json* pattern, std::string_view key) {
  const io::Json* found = pattern != nullptr ? pattern->find(key) : nullptr;
  return found != nullptr ? found->text() : nullptr;
}

}  // namespace

class Pattern::Expression {
 public:
  Expression(const std::string& source, const Component& component) : source_(source) {
    const auto refuse = [&](const std::string& why) {
      component.refuse("the expression " + io::in_quotes(source.substr(0, 80)) +
                       " is not supported: " + why);
    };
    if (source.empty()) refuse("it is empty");
    if (source.size() > kLongestExpression) refuse("it is too long");
    std::string translated;
    try {
      translated = pcre_of(source);
    } catch (const base::Error& error) {
      refuse(error.what());
    }
    int error = compile(translated, 0);
    // A match that begins with a letter of two cases is preceded by a search for each of them,
    // which may go through the whole text at every match.
    if (code_ && begins_with_letter()) error = compile(translated, PCRE2_NO_START_OPTIMIZE);
    if (code_) return;
    unsigned char message[200] = {};
    pcre2_get_error_message(error, message, sizeof message);
    refuse(reinterpret_cast<const char*>(message));
  }

  const pcre2_code* code() const { return code_.get(); }
  const std::string& source() const { return source_; }

  class Search;

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  };

  int compile(const std::string& translated, uint32_t options) {
    options |= PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    int error = 0;
    size_t place = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                              options, &error, &place, nullptr));
    return error;
  }
  // Whether each match begins with one and the same letter, in whatever case.
  bool begins_with_letter() const {
    uint32_t kind = 0;
    uint32_t unit = 0;
    pcre2_pattern_info(code_.get(), PCRE2_INFO_FIRSTCODETYPE, &kind);
    pcre2_pattern_info(code_.get(), PCRE2_INFO_FIRSTCODEUNIT, &unit);
    return kind == 1 && (unit | 0x20) >= 'a' && (unit | 0x20) <= 'z';
  }

  std::string source_;
  std::unique_ptr<pcre2_code, Free> code_;
};

// Matches in one text. Wherever a match has made a choice it calls out, and what it has done since
// is counted: one step, and the letters that it has gone over. PCRE2's own limits count no letters,
// and begin anew at each place. All matches together stay within a small multiple of the text's
// length: so no expression takes more than linear time.
class Pattern::Expression::Search {
 public:
  Search(const Expression& expression, std::string_view text)
      : expression_(expression),
        text_(text),
        steps_left_(kFreeSteps + kStepsPerByte * static_cast<int64_t>(text.size())),
        data_(pcre2_match_data_create_from_pattern(expression.code(), nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    if (!data_ || !context_) throw std::bad_alloc();
    pcre2_set_heap_limit(context_.get(), kHeapLimit);
    pcre2_set_match_limit(context_.get(), UINT32_MAX);
    pcre2_set_depth_limit(context_.get(), UINT32_MAX);
    pcre2_set_callout(context_.get(), count, this);
  }
  Search(const Search&) = delete;  // PCRE2 knows its address
  Search& operator=(const Search&) = delete;

  // The first match from `from` on.
  bool find(size_t from, size_t& begin, size_t& end) {
    start_ = from;
    position_ = from;
    const int result =
        pcre2_match(expression_.code(), reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(),
                    from, PCRE2_NO_UTF_CHECK, data_.get(), context_.get());
    if (result == PCRE2_ERROR_NOMATCH) return false;
    if (result < 0) {
      throw base::Error(base::ErrorKind::bad_input, "text", "",
                        "the tokenizer's expression " +
                            io::in_quotes(expression_.source().substr(0, 80)) +
                            " takes too many steps on it");
    }
    const size_t* place = pcre2_get_ovector_pointer(data_.get());
    begin = place[0];
    end = place[1];
    return true;
  }

 private:
  static int count(pcre2_callout_block* block, void* self) {
    Search& search = *static_cast<Search*>(self);
    if (block->start_match != search.start_) {
      search.start_ = search.position_ = block->start_match;
    }
    const auto from = static_cast<int64_t>(search.position_);
    const auto to = static_cast<int64_t>(block->current_position);
    search.position_ = block->current_position;
    search.steps_left_ -= 1 + std::abs(to - from);
    return search.steps_left_ < 0 ? PCRE2_ERROR_CALLOUT : 0;
  }

  const Expression& expression_;
  std::string_view text_;
  int64_t steps_left_;
  size_t start_ = 0;     // where the match that is tried begins
  size_t position_ = 0;  // of its last choice
  std::unique_ptr<pcre2_match_data, Free> data_;
  std::unique_ptr<pcre2_match_context, Free> context_;
};

Pattern::Pattern(const Component& component) {
  const io::Json* pattern = component.find("pattern");
  const std::string* plain = member(pattern, "String");
  const std::string* expression = member(pattern, "Regex");
  if ((plain == nullptr) == (expression == nullptr)) {
    component.refuse("\"pattern\" is neither {\"String\": a text} nor {\"Regex\": an expression}");
  }
  if (expression != nullptr) {
    expression_ = std::make_shared<const Expression>(*expression, component);
  } else if (plain->empty()) {
    component.refuse("\"pattern\" is an empty text");
  } else {
    plain_ = *plain;
  }
}

void Pattern::divide_by_text(std::string_view text, const StretchTaker& take) const {
  size_t begin = 0;
  for (size_t at; (at = text.find(plain_, begin)) != text.npos; begin = at + plain_.size()) {
    if (at > begin) take(begin, at, false);
    take(at, at + plain_.size(), true);
  }
  if (begin < text.size()) take(begin, text.size(), false);
}

void Pattern::divide(std::string_view text, const StretchTaker& take) const {
  if (text.empty()) return;
  if (!expression_) return divide_by_text(text, take);
  Expression::Search search(*expression_, text);
  size_t done = 0;
  bool is_after_match = false;
  size_t begin = 0;
  size_t end = 0;
  for (size_t from = 0; from <= text.size() && search.find(from, begin, end);) {
    // What is empty right after a match is none.
    if (begin == end && is_after_match && begin == done) {
      from += from < text.size() ? code_point_at(text, from).length : 1;
      continue;
    }
    if (begin > done) take(done, begin, false);
    take(begin, end, true);
    done = from = end;
    is_after_match = true;
  }
  if (done < text.size()) take(done, text.size(), false);
}

std::string Pattern::replaced(std::string_view text, std::string_view content,
                              size_t longest) const {
  std::string result;
  result.reserve(text.size());
  divide(text, [&](size_t begin, size_t end, bool is_match) {
    result += is_match ? content : text.substr(begin, end - begin);
    check_growth(result, longest);
  });
  return result;
}

}  // namespace headlight::text
