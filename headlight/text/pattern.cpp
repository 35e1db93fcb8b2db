// Running patterns, by PCRE2 where they are regular expressions.
#include "headlight/text/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "headlight/text/growth.h"
#include "headlight/text/pattern_syntax.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr size_t kLongestExpression = 10'000;  // bytes
constexpr uint32_t kFirstSteps = 256;          // of one match; most take fewer than fifty
constexpr uint32_t kHeapLimit = 64 * 1024;     // KiB

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
    int error = 0;
    size_t place = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                              &error, &place, nullptr));
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

  std::string source_;
  std::unique_ptr<pcre2_code, Free> code_;
};

// Matches in one text. A match that takes many steps is tried again with more of them, as long as
// all such attempts together stay within a small multiple of the text's length: so no expression
// takes more than linear time.
class Pattern::Expression::Search {
 public:
  Search(const Expression& expression, std::string_view text)
      : expression_(expression),
        text_(text),
        steps_left_(1'000'000 + 64 * static_cast<int64_t>(text.size())),
        data_(pcre2_match_data_create_from_pattern(expression.code(), nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    if (!data_ || !context_) throw std::bad_alloc();
    pcre2_set_heap_limit(context_.get(), kHeapLimit);
  }

  // The first match from `from` on.
  bool find(size_t from, size_t& begin, size_t& end) {
    int result = run(from, kFirstSteps);
    for (uint32_t steps = kFirstSteps * 8; is_limit(result) && steps_left_ > 0; steps *= 8) {
      const auto most = static_cast<uint32_t>(std::min<int64_t>({steps, steps_left_, 1 << 30}));
      steps_left_ -= most;
      result = run(from, most);
    }
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
  static bool is_limit(int result) {
    return result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_DEPTHLIMIT;
  }

  int run(size_t from, uint32_t steps) {
    pcre2_set_match_limit(context_.get(), steps);
    pcre2_set_depth_limit(context_.get(), steps);
    return pcre2_match(expression_.code(), reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(),
                       from, PCRE2_NO_UTF_CHECK, data_.get(), context_.get());
  }

  const Expression& expression_;
  std::string_view text_;
  int64_t steps_left_;
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
