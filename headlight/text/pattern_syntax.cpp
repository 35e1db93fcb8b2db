// Only what both engines are known to read alike gets through: the two differ in \s, \w and \h, in
// what ^ and $ are, in sets within sets, in \v, in braces and in repetitions of what may be empty.
#include "headlight/text/pattern_syntax.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/io/io.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::string_view kWhiteSpace = R"(\t-\r\x{20}\x{85}\p{Z})";
// \w within a set; elsewhere it has some digits and fractions more.
constexpr std::string_view kWord = R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9})"
                                   R"(\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
constexpr std::string_view kMoreOfWord = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
constexpr int64_t kMostTimes = 1000;  // {n,m}

[[noreturn]] void refuse(const std::string& what) {
  throw base::Error(base::ErrorKind::usage, "pattern", "", what);
}

bool is_digit_of_ascii(char c) { return c >= '0' && c <= '9'; }
bool is_letter_of_ascii(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

class Translation {
 public:
  explicit Translation(std::string_view expression) : text_(expression) {}

  std::string whole() {
    while (at_ < text_.size()) take_one();
    if (!groups_.empty()) refuse("a group has no end");
    return std::move(result_);
  }

 private:
  enum class Atom { none, single, group, assertion };
  struct Group {
    Atom kind;
    bool was_caseless;
  };

  bool is_next(std::string_view text) const { return text_.substr(at_).starts_with(text); }
  // {n,m}: other braces stand for themselves.
  bool is_next_times() const {
    return is_next("{") && at_ + 1 < text_.size() &&
           (is_digit_of_ascii(text_[at_ + 1]) || text_[at_ + 1] == ',');
  }
  bool skip(std::string_view text) {
    if (!is_next(text)) return false;
    at_ += text.size();
    return true;
  }
  char32_t next_point() {
    const CodePoint point = code_point_at(text_, at_);
    at_ += point.length;
    return point.value;
  }

  void take_one() {
    switch (text_[at_]) {
      case '(':
        return open_group();
      case ')':
        return close_group();
      case '|':
        ++at_;
        result_ += '|';
        last_ = Atom::none;
        return;
      case '[':
        take_set();
        last_ = Atom::single;
        return;
      case '*':
      case '+':
      case '?':
        return take_quantifier();
      case '{':
        if (is_next_times()) return take_times();
        break;
      case '^':
      case '$':
        result_ += text_[at_++];
        last_ = Atom::assertion;
        return;
      case '.':
        forbid_caseless();
        ++at_;
        result_ += R"([^\n])";
        last_ = Atom::single;
        return;
      case '\\':
        return take_escape();
      default:
        break;
    }
    take_literal(next_point());
  }

  void open_group() {
    ++at_;
    const bool was_caseless = is_caseless_;
    Atom kind = Atom::group;
    if (is_next("?i)") && at_ == 1) {
      skip("?i)");
      is_caseless_ = true;
      result_ += "(?i)";
      return;
    }
    if (skip("?i:")) {
      is_caseless_ = true;
      result_ += "(?i:";
    } else if (skip("?>")) {
      result_ += "(?>";
    } else if (is_next("?=") || is_next("?!") || is_next("?<=") || is_next("?<!")) {
      kind = Atom::assertion;
      result_ += '(';
      while (text_[at_] == '?' || text_[at_] == '<') result_ += text_[at_++];
      result_ += text_[at_++];
    } else if (skip("?:") || !is_next("?")) {
      if (is_next("*")) refuse("a group begins with *");
      result_ += "(?:";
    } else {
      refuse("a group begins with (" + std::string(text_.substr(at_, 2)));
    }
    groups_.push_back({kind, was_caseless});
    if (groups_.size() > 50) refuse("groups within groups are too deep");
    last_ = Atom::none;
  }

  void close_group() {
    if (groups_.empty()) refuse("a group has no beginning");
    ++at_;
    result_ += ')';
    last_ = groups_.back().kind;
    is_caseless_ = groups_.back().was_caseless;
    groups_.pop_back();
    const bool is_repeated = is_next("?") || is_next("*") || is_next("+") || is_next_times();
    if (last_ == Atom::group && !is_repeated) report_choice();
  }

  // All that a match may try again, or read far ahead for, is a choice among alternatives or
  // lengths: it calls out behind each of them, so that somebody can count. Where the match ends
  // there is nothing to count, since the next one goes on from there.
  void report_choice() {
    const bool is_end = groups_.empty() && (at_ == text_.size() || is_next("|"));
    if (!is_end) result_ += "(?C)";
  }

  void check_repeated(bool is_optional) {
    if (last_ == Atom::none) refuse("a repetition of nothing");
    if (last_ == Atom::assertion) refuse("a repetition of an assertion");
    if (last_ == Atom::group && !is_optional) refuse("a repeated group");
    last_ = Atom::none;
  }

  void take_quantifier() {
    const char sign = text_[at_++];
    check_repeated(sign == '?');
    result_ += sign;
    if (is_next("?") || is_next("+")) result_ += text_[at_++];
    report_choice();
  }

  [[noreturn]] static void refuse_times() {
    refuse("more than " + std::to_string(kMostTimes) + " repetitions");
  }
  int64_t take_number() {
    int64_t number = 0;
    if (at_ >= text_.size() || !is_digit_of_ascii(text_[at_])) refuse("a repetition {,n}");
    while (at_ < text_.size() && is_digit_of_ascii(text_[at_])) {
      number = number * 10 + (text_[at_++] - '0');
      if (number > kMostTimes) refuse_times();
    }
    return number;
  }

  void take_times() {
    ++at_;
    const int64_t least = take_number();
    least_times_ += least;
    if (least_times_ > kMostTimes) refuse_times();
    std::string most;
    const bool is_range = skip(",");
    if (is_range && !is_next("}")) most = std::to_string(take_number());
    if (!skip("}")) refuse("a repetition without its }");
    check_repeated(least == 0 && most == "1");
    result_ += "{" + std::to_string(least) + (is_range ? "," + most : "") + "}";
    if (is_next("+") || (is_next("?") && !is_range)) refuse("a repetition of a repetition");
    if (skip("?")) result_ += '?';
    report_choice();
  }

  void forbid_caseless() const {
    if (is_caseless_) refuse("sets within (?i: )");
  }

  void append_point(char32_t point) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string digits;
    do {
      digits.insert(digits.begin(), kDigits[point & 15]);
      point >>= 4;
    } while (point != 0);
    result_ += "\\x{" + digits + "}";
  }

  // Without regard to case one letter may stand for two: ß for ss.
  void take_literal(char32_t point) {
    if (is_caseless_) {
      const char small = static_cast<char>(point | 0x20);
      if (point >= 0x80) refuse("letters beyond ASCII within (?i: )");
      const bool is_pair = last_ == Atom::single &&
                           ((before_ == 's' && small == 's') || (before_ == 's' && small == 't') ||
                            (before_ == 'f' && (small == 'f' || small == 'i' || small == 'l')));
      if (is_pair) refuse("ss, st, ff, fi and fl within (?i: )");
      before_ = small;
    }
    append_point(point);
    last_ = Atom::single;
  }

  char32_t take_hexadecimal(size_t most, bool in_braces) {
    char32_t value = 0;
    size_t count = 0;
    for (; at_ < text_.size() && count < most; ++count) {
      const char c = text_[at_];
      const char small = static_cast<char>(c | 0x20);
      if (is_digit_of_ascii(c)) {
        value = value * 16 + static_cast<char32_t>(c - '0');
      } else if (small >= 'a' && small <= 'f') {
        value = value * 16 + static_cast<char32_t>(small - 'a' + 10);
      } else {
        break;
      }
      ++at_;
    }
    const bool is_surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (count == 0 || (!in_braces && count < most) || value > 0x10FFFF || is_surrogate) {
      refuse("an escape that is no code point");
    }
    return value;
  }

  // A code point by its escape, the backslash and the letter being read; nothing for others.
  std::optional<char32_t> point_of(char letter) {
    constexpr std::string_view kLetters = "nrtfvae";
    constexpr std::string_view kPoints = "\n\r\t\f\v\a\x1b";
    const size_t known = kLetters.find(letter);
    if (known != kLetters.npos) return static_cast<char32_t>(kPoints[known]);
    if (letter == 'x' && skip("{")) {
      const char32_t value = take_hexadecimal(8, true);
      if (!skip("}")) refuse("an escape without its }");
      return value;
    }
    if (letter == 'x') {
      const char32_t value = take_hexadecimal(2, false);
      if (value >= 0x80) refuse("a single byte \\x80 to \\xff");
      return value;
    }
    if (letter == 'u') return take_hexadecimal(4, false);
    const bool is_name = is_digit_of_ascii(letter) || is_letter_of_ascii(letter);
    if (is_name || static_cast<unsigned char>(letter) >= 0x80) return std::nullopt;
    return static_cast<char32_t>(letter);
  }

  char take_escaped() {
    ++at_;
    if (at_ >= text_.size()) refuse("a backslash at the end");
    return text_[at_++];
  }

  // \p{L} and \P{L}, the letter being read.
  void take_property(char letter) {
    if (!skip("{")) refuse("a property without braces");
    const bool is_negated = skip("^") != (letter == 'P');
    const size_t end = text_.find('}', at_);
    if (end == text_.npos) refuse("a property without its }");
    const std::string name(text_.substr(at_, end - at_));
    at_ = end + 1;
    result_ += std::string(is_negated ? "\\P{" : "\\p{") + property_name(name) + "}";
  }

  static std::string property_name(const std::string& name) {
    constexpr std::array<std::string_view, 37> kCategories = {
        "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl",
        "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk",
        "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Cn", "Co", "Cs"};
    constexpr std::array<std::string_view, 14> kScripts = {
        "Han",    "Hiragana", "Katakana",   "Hangul",   "Latin", "Greek", "Cyrillic",
        "Arabic", "Hebrew",   "Devanagari", "Armenian", "Thai",  "Tamil", "Bengali"};
    if (std::ranges::find(kCategories, name) != kCategories.end()) return name;
    if (std::ranges::find(kScripts, name) != kScripts.end()) return "sc:" + name;
    refuse("the property " + io::in_quotes(name));
  }

  void take_escape() {
    const char letter = take_escaped();
    if (letter == 'A' || letter == 'z') {
      result_ += std::string("\\") + letter;
      last_ = Atom::assertion;
      return;
    }
    if (const auto point = point_of(letter)) return take_literal(*point);
    forbid_caseless();
    if (letter == 'S') {
      result_.append("[^").append(kWhiteSpace) += ']';
    } else if (letter == 'w' || letter == 'W') {
      result_.append(letter == 'w' ? "[" : "[^").append(kWord).append(kMoreOfWord) += ']';
    } else {
      result_ += '[';
      take_class(letter);
      result_ += ']';
    }
    last_ = Atom::single;
  }

  // \s and the like as members of a set.
  void take_class(char letter) {
    if (letter == 's') {
      result_ += kWhiteSpace;
    } else if (letter == 'w') {
      result_ += kWord;
    } else if (letter == 'd') {
      result_ += R"(\p{Nd})";
    } else if (letter == 'D') {
      result_ += R"(\P{Nd})";
    } else if (letter == 'S') {
      result_ += R"(\S\x{180e})";  // white space to PCRE2
    } else if (letter == 'p' || letter == 'P') {
      take_property(letter);
    } else {
      refuse(std::string("the escape \\") + letter);
    }
  }

  void take_set() {
    forbid_caseless();
    ++at_;
    result_ += '[';
    if (skip("^")) result_ += '^';
    if (is_next("]")) refuse("an empty set");
    while (at_ < text_.size() && text_[at_] != ']') take_member();
    if (!skip("]")) refuse("a set without its ]");
    result_ += ']';
  }

  // A code point of a set, or nothing after a class of them.
  std::optional<char32_t> take_set_point() {
    if (is_next("[")) refuse("a set within a set");
    if (is_next("&&")) refuse("sets of what is in two sets");
    if (text_[at_] != '\\') return next_point();
    const char letter = take_escaped();
    if (letter == 'b') return U'\b';
    if (const auto point = point_of(letter)) return point;
    take_class(letter);
    return std::nullopt;
  }

  void take_member() {
    const std::optional<char32_t> first = take_set_point();
    const bool is_range = is_next("-") && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
    if (!first) {
      if (is_range) refuse("a range of a class");
      return;
    }
    append_point(*first);
    if (!is_range) return;
    ++at_;
    const std::optional<char32_t> last = take_set_point();
    if (!last || *last < *first) refuse("a range without an end");
    result_ += '-';
    append_point(*last);
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string result_ = {};
  std::vector<Group> groups_ = {};
  Atom last_ = Atom::none;
  int64_t least_times_ = 0;  // of all {n,m} together: what a place costs before any choice
  bool is_caseless_ = false;
  char before_ = 0;  // the letter before, within (?i: )
};

}  // namespace

std::string pcre_of(std::string_view expression) { return Translation(expression).whole(); }

}  // namespace headlight::text
