// The task `numbers`: number words to digits.
#include "headlight/data/numbers_task.h"

#include <numeric>
#include <set>
#include <unordered_map>

#include "headlight/data/number_normalizer.h"
#include "headlight/data/number_words.h"
#include "headlight/data/permutation.h"

namespace headlight::data {
namespace {

constexpr int64_t kMostDigits = 6;
// Of English: "three hundred and seventy-three thousand three hundred and seventy-three".
constexpr int64_t kLongestWords = 72;

bool is_held_out(int64_t number) { return number % 97 == 13; }

// Numbers of so many digits: [first, end).
struct Range {
  int64_t first = 0;
  int64_t end = 0;
};
Range with_digits(int64_t digits) {
  int64_t end = 1;
  for (int64_t i = 0; i < digits; ++i) end *= 10;
  return {digits == 1 ? 0 : end / 10, end};
}

// Every letter that can occur.
text::Tokenizer letters() {
  std::string text = "0123456789";
  for (const NumberLanguage language : kNumberLanguages) {
    for (int64_t number = 0; number < 100; ++number) text += number_words(number, language);
    for (const int64_t number : {100, 1000, 10000}) text += number_words(number, language);
  }
  text += ' ';
  const std::string_view all = text;
  return text::char_tokenizer({&all, 1}, task_special_tokens(), number_normalizer());
}

// Held-out numbers in the order in which they are used: one of each number of digits in turn, for
// as long as there are any.
std::vector<int64_t> held_out_numbers() {
  std::vector<std::vector<int64_t>> left;
  size_t count = 0;
  for (int64_t digits = 1; digits <= kMostDigits; ++digits) {
    const Range range = with_digits(digits);
    std::vector<int64_t> all;
    for (int64_t n = range.first; n < range.end; ++n) {
      if (is_held_out(n)) all.push_back(n);
    }
    std::vector<int64_t> shuffled;
    const uint64_t key =
        base::mix(base::name_key("held-out numbers"), static_cast<uint64_t>(digits));
    for (const int64_t i : permutation(static_cast<int64_t>(all.size()), key)) {
      shuffled.push_back(all[static_cast<size_t>(i)]);
    }
    count += shuffled.size();
    left.push_back(std::move(shuffled));
  }
  std::vector<int64_t> numbers;
  while (numbers.size() < count) {
    for (std::vector<int64_t>& of_length : left) {
      if (of_length.empty()) continue;
      numbers.push_back(of_length.back());
      of_length.pop_back();
    }
  }
  return numbers;
}

// Words that another form, earlier in the list of the language, has too.
bool is_of_earlier_form(int64_t number, const NumberForm& form, const std::string& words) {
  for (const NumberForm& earlier : number_forms(form.language)) {
    if (earlier.name == form.name) return false;
    if (number_words(number, earlier) == words) return true;
  }
  return false;
}

// Numbers that people try: the first ones, a digit or two with zeros behind it and with one, all
// digits the same, digits in a row, years, the ends of each number of digits.
std::vector<int64_t> tried_numbers() {
  std::set<int64_t> numbers;
  const auto add = [&](int64_t number) {
    if (number >= 0 && number <= kLargestNumber) numbers.insert(number);
  };
  for (int64_t number = 0; number <= 130; ++number) add(number);
  for (int64_t unit = 1; unit <= 100000; unit *= 10) {
    for (int64_t count = 1; count < 100; ++count) {
      for (const int64_t beside : {-1, 0, 1}) add(count * unit + beside);
    }
    for (const int64_t rest : {2, 5, 10, 11, 12, 20, 21, 50, 99, 100, 101, 110, 111, 1000, 1100})
      add(unit + rest);
  }
  for (int64_t ones = 1; ones <= 111111; ones = 10 * ones + 1) {
    for (int64_t digit = 1; digit < 10; ++digit) add(digit * ones);
  }
  for (const int64_t number : {123, 1234, 12345, 123456, 234, 2345, 23456, 234567, 321, 4321, 54321,
                               654321, 987654, 456789, 345678, 101010})
    add(number);
  for (int64_t year = 1900; year <= 2050; ++year) add(year);
  return {numbers.begin(), numbers.end()};
}

class NumbersTask : public GeneratedTask {
 public:
  NumbersTask() : GeneratedTask("numbers", letters()) {
    for (int64_t id = 0; id < tokenizer().size(); ++id) {
      if (tokenizer().is_special(id)) continue;
      const std::string& letter = tokenizer().token(id);
      ids_.emplace(text::code_point_at(letter, 0).value, id);
    }
  }

  int64_t longest_source() const override { return kLongestWords; }
  int64_t longest_target() const override { return kMostDigits; }
  std::string data_name() const override { return "numbers in 17 forms"; }

  std::optional<std::string> why_not_source(std::string_view text) const override {
    if (read_number_words(text)) return std::nullopt;
    return "is no number from 0 to " + std::to_string(kLargestNumber) +
           " in English, Turkish, Azerbaijani or Korean words, as one hundred forty-two is";
  }

  std::vector<TaskCases> held_out(int64_t count) const override {
    return in_each_form(held_out_numbers(), count);
  }

  std::vector<ExamPart> exam(int64_t count) const override {
    std::vector<int64_t> six_digits = held_out_numbers(), small(kSmallNumbers);
    std::erase_if(six_digits, [](int64_t number) { return number < 100000; });
    std::iota(small.begin(), small.end(), 0);
    return {{"held_out", held_out(count)},
            {"six_digits", in_each_form(six_digits, count / 2)},
            {"tried", in_each_form(tried_numbers())},
            {"below_10000", in_each_form(small)}};
  }

 protected:
  std::optional<TokenPair> draw(uint64_t key) const override {
    const base::Random random(key);
    const NumberLanguage language = kNumberLanguages[random.below(0, kNumberLanguages.size())];
    const int64_t digits = 1 + static_cast<int64_t>(random.below(1, kMostDigits));
    const int64_t number = random.below(2, 2) == 0 ? any_number(random, digits)  //
                                                   : round_number(random, digits);
    if (is_held_out(number)) return std::nullopt;
    const std::span<const NumberForm> forms = number_forms(language);
    uint64_t choices = kFirstChoice;
    const auto form = [&]() -> const NumberForm& {
      return forms[random.below(choices++, forms.size())];
    };
    // One in four is of somebody who writes each part in another way.
    if (random.below(3, 4) > 0) return encoded(number, number_words(number, form()));
    return encoded(number, number_words(number, language,
                                        [&](NumberHabit habit) { return form().has(habit); }));
  }

 private:
  static constexpr int64_t kSmallNumbers = 10000;
  // Random numbers of a draw: language, digits, kind of number, kind of writer, then
  // those of the number, then those of the writer.
  static constexpr uint64_t kFirstOfNumber = 4, kFirstChoice = 32;

  static int64_t any_number(const base::Random& random, int64_t digits) {
    const Range range = with_digits(digits);
    const uint64_t numbers = static_cast<uint64_t>(range.end - range.first);
    return range.first + static_cast<int64_t>(random.below(kFirstOfNumber, numbers));
  }

  // Every second digit is 0, and every third number begins with 1: 10,000 is one of 90,000 numbers
  // of its length, but people write it more often than that.
  static int64_t round_number(const base::Random& random, int64_t digits) {
    uint64_t next = kFirstOfNumber;
    const auto below = [&](uint64_t bound) {
      return static_cast<int64_t>(random.below(next++, bound));
    };
    int64_t number = below(3) == 0 ? 1 : 1 + below(9);
    for (int64_t i = 1; i < digits; ++i) number = 10 * number + (below(2) == 0 ? 0 : below(10));
    return number;
  }

  // Up to `count` numbers in each form, without those that an earlier form writes in the same way.
  std::vector<TaskCases> in_each_form(std::span<const int64_t> numbers,
                                      int64_t count = INT64_MAX) const {
    std::vector<TaskCases> cases;
    for (const NumberLanguage language : kNumberLanguages) {
      for (const NumberForm& form : number_forms(language)) {
        TaskCases& of_form = cases.emplace_back(
            TaskCases{std::string(language_code(language)), std::string(form.name), empty_set()});
        for (const int64_t number : numbers) {
          if (of_form.pairs.size() == count) break;
          const std::string words = number_words(number, form);
          if (is_of_earlier_form(number, form, words)) continue;
          const TokenPair pair = encoded(number, words);
          of_form.pairs.append(pair.source, pair.target);
        }
      }
    }
    return cases;
  }

  TokenPair encoded(int64_t number, const std::string& words) const {
    return {ids_of(words), ids_of(std::to_string(number))};
  }

  // As the tokenizer has them, for words that need no normalising: ten thousands of times a second.
  std::vector<int64_t> ids_of(std::string_view words) const {
    std::vector<int64_t> ids;
    for (size_t at = 0; at < words.size();) {
      const text::CodePoint letter = text::code_point_at(words, at);
      ids.push_back(ids_.at(letter.value));
      at += letter.length;
    }
    return ids;
  }

  std::unordered_map<char32_t, int64_t> ids_;
};

}  // namespace

std::unique_ptr<GeneratedTask> numbers_task() { return std::make_unique<NumbersTask>(); }

}  // namespace headlight::data
