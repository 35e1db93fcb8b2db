// Number words read by the grammar of each language.
#include <algorithm>
#include <vector>

#include "headlight/data/number_lexicon.h"
#include "headlight/data/number_words.h"

namespace headlight::data {
namespace {

// A word is what it adds or multiplies by; these two are no numbers.
constexpr int64_t kAndWord = -1;
constexpr int64_t kOneWordA = -2;

using WordValues = std::vector<int64_t>;
using NumberWord = std::pair<std::string_view, int64_t>;

std::vector<NumberWord> words_with_values(const NumberLexicon& lexicon) {
  std::vector<NumberWord> words = {{lexicon.hundred, 100}, {lexicon.thousand, 1000}};
  for (size_t i = 0; i < lexicon.small.size(); ++i) {
    if (!lexicon.small[i].empty()) words.emplace_back(lexicon.small[i], i);
  }
  for (size_t i = lexicon.is_english ? 2 : 1; i < lexicon.tens.size(); ++i)
    words.emplace_back(lexicon.tens[i], 10 * static_cast<int64_t>(i));
  if (lexicon.is_english) {
    words.emplace_back("and", kAndWord);
    words.emplace_back("a", kOneWordA);
  }
  return words;
}

// The values of the words; nothing where one is unknown. English words stand apart, those of the
// others, of which none begins with another, may be joined.
std::optional<WordValues> values_of(const NumberLexicon& lexicon, std::string_view text) {
  const std::vector<NumberWord> words = words_with_values(lexicon);
  WordValues values;
  while (!text.empty()) {
    const size_t end = lexicon.is_english ? std::min(text.find_first_of(" -"), text.size()) : 0;
    const auto found = std::ranges::find_if(words, [&](const NumberWord& word) {
      return lexicon.is_english ? text.substr(0, end) == word.first : text.starts_with(word.first);
    });
    if (found == words.end()) return std::nullopt;
    values.push_back(found->second);
    text.remove_prefix(found->first.size());
    if (text.starts_with(' ') || (lexicon.is_english && text.starts_with('-'))) {
      text.remove_prefix(1);
      if (text.empty()) return std::nullopt;
    }
  }
  return values;
}

class ThousandsReader {
 public:
  ThousandsReader(const NumberLexicon& lexicon, WordValues values)
      : lexicon_(lexicon), values_(std::move(values)) {
    const bool begins_with_a = values_.size() > 1 && values_[0] == kOneWordA && values_[1] >= 100;
    if (begins_with_a) values_[0] = 1;
  }

  std::optional<int64_t> number() {
    if (values_ == WordValues{0}) return 0;
    auto result = counted_hundreds();
    if (!result) {
      at_ = 0;
      result = thousands();
    }
    return at_ == values_.size() ? result : std::nullopt;
  }

 private:
  bool take(int64_t value) {
    const bool is_there = at_ < values_.size() && values_[at_] == value;
    if (is_there) ++at_;
    return is_there;
  }
  std::optional<int64_t> take_within(int64_t lowest, int64_t highest) {
    if (at_ == values_.size() || values_[at_] < lowest || values_[at_] > highest) return {};
    return values_[at_++];
  }

  // "twelve hundred five"
  std::optional<int64_t> counted_hundreds() {
    const auto hundreds = lexicon_.is_english ? below_hundred() : std::nullopt;
    if (!hundreds || *hundreds < 11 || *hundreds % 10 == 0 || !take(100)) return {};
    const auto rest = rest_of_hundreds();
    if (!rest) return {};
    return *hundreds * 100 + *rest;
  }

  std::optional<int64_t> thousands() {
    const auto first = below_thousand();
    if (!take(1000)) return first;
    if (!is_count(first)) return {};
    const bool has_and = lexicon_.is_english && take(kAndWord);
    const auto rest = below_thousand();
    if (has_and && (!rest || *rest >= 100)) return {};
    return first.value_or(1) * 1000 + rest.value_or(0);
  }

  std::optional<int64_t> below_thousand() {
    const size_t begin = at_;
    const auto hundreds = take_within(1, 9);
    if (take(100)) {
      if (!is_count(hundreds)) return {};
      const auto rest = rest_of_hundreds();
      if (!rest) return {};
      return hundreds.value_or(1) * 100 + *rest;
    }
    at_ = begin;
    return below_hundred();
  }

  // Whether so many hundreds or thousands are said so.
  bool is_count(std::optional<int64_t> count) const {
    if (!count) return !lexicon_.is_english;
    return *count != 1 || lexicon_.may_say_one;
  }

  // 0 when nothing follows.
  std::optional<int64_t> rest_of_hundreds() {
    const bool has_and = lexicon_.is_english && take(kAndWord);
    const auto rest = below_hundred();
    if (has_and && !rest) return {};
    return rest.value_or(0);
  }

  std::optional<int64_t> below_hundred() {
    if (lexicon_.is_english) {
      if (const auto small = take_within(1, 19)) return small;
    }
    const auto tens = take_within(10, 90);
    const auto ones = take_within(1, 9);
    if (!tens && !ones) return {};
    return tens.value_or(0) + ones.value_or(0);
  }

  const NumberLexicon& lexicon_;
  WordValues values_;
  size_t at_ = 0;
};

class KoreanReader {
 public:
  explicit KoreanReader(std::string_view text) : text_(text) {}

  std::optional<int64_t> number() {
    if (text_ == kKoreanZero) return 0;
    const size_t ten_thousand = text_.find(kKoreanTenThousand);
    may_space_ = ten_thousand == text_.npos;
    std::optional<int64_t> number = group();
    if (take(kKoreanTenThousand)) {
      if (number.value_or(1) > 99) return {};
      may_space_ = true;
      skip_space();
      number = number.value_or(1) * 10000 + group().value_or(0);
    }
    return text_.empty() ? number : std::nullopt;
  }

 private:
  bool take(std::string_view word) {
    const bool is_there = text_.starts_with(word);
    if (is_there) text_.remove_prefix(word.size());
    return is_there;
  }
  // Not at the end.
  void skip_space() {
    if (may_space_ && text_.size() > 1) take(" ");
  }
  int64_t digit() {
    for (size_t i = 1; i < kKoreanDigits.size(); ++i) {
      if (take(kKoreanDigits[i])) return static_cast<int64_t>(i);
    }
    return 0;
  }

  std::optional<int64_t> group() {
    int64_t number = 0, unit = 1000;
    for (const std::string_view place : kKoreanPlaces) {
      const std::string_view before = text_;
      const int64_t count = digit();
      if (take(place)) {
        number += std::max<int64_t>(1, count) * unit;
        skip_space();
      } else {
        text_ = before;
      }
      unit /= 10;
    }
    number += digit();
    return number > 0 ? std::optional(number) : std::nullopt;
  }

  std::string_view text_;
  bool may_space_ = true;
};

}  // namespace

std::optional<int64_t> read_number_words(std::string_view words) {
  for (const NumberLexicon* lexicon : {&kEnglishNumbers, &kTurkishNumbers, &kAzerbaijaniNumbers}) {
    if (const auto values = values_of(*lexicon, words)) {
      if (const auto number = ThousandsReader(*lexicon, *values).number()) return number;
    }
  }
  return KoreanReader(words).number();
}

}  // namespace headlight::data
