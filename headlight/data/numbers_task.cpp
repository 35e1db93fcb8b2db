// The task `numbers`: number words to digits.
#include "headlight/data/numbers_task.h"

#include "headlight/data/number_words.h"
#include "headlight/data/permutation.h"

namespace headlight::data {
namespace {

constexpr int64_t kMostDigits = 6;
// Of English: "three hundred seventy-three thousand three hundred seventy-three".
constexpr int64_t kLongestWords = 64;

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
  return text::char_tokenizer({&all, 1}, task_special_tokens());
}

// Held-out numbers in the order in which they are used: one of each number of digits in turn, for
// as long as there are any.
std::vector<int64_t> held_out_numbers(size_t count) {
  std::vector<std::vector<int64_t>> left;
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
    left.push_back(std::move(shuffled));
  }
  std::vector<int64_t> numbers;
  for (bool any = true; any && numbers.size() < count;) {
    any = false;
    for (std::vector<int64_t>& of_length : left) {
      if (of_length.empty() || numbers.size() == count) continue;
      numbers.push_back(of_length.back());
      of_length.pop_back();
      any = true;
    }
  }
  return numbers;
}

class NumbersTask : public GeneratedTask {
 public:
  NumbersTask() : GeneratedTask("numbers", letters()) {}

  int64_t longest_source() const override { return kLongestWords; }
  int64_t longest_target() const override { return kMostDigits; }

  std::vector<HeldOutCases> held_out(int64_t count) const override {
    const std::vector<int64_t> numbers = held_out_numbers(static_cast<size_t>(count));
    std::vector<HeldOutCases> cases;
    for (const NumberLanguage language : kNumberLanguages) {
      cases.push_back({std::string(language_code(language)), empty_set()});
      for (const int64_t number : numbers) {
        const TokenPair pair = encoded(number, language);
        cases.back().pairs.append(pair.source, pair.target);
      }
    }
    return cases;
  }

 protected:
  std::optional<TokenPair> draw(uint64_t key) const override {
    const base::Random random(key);
    const NumberLanguage language = kNumberLanguages[random.below(0, kNumberLanguages.size())];
    const Range range = with_digits(1 + static_cast<int64_t>(random.below(1, kMostDigits)));
    const uint64_t numbers = static_cast<uint64_t>(range.end - range.first);
    const int64_t number = range.first + static_cast<int64_t>(random.below(2, numbers));
    if (is_held_out(number)) return std::nullopt;
    return encoded(number, language);
  }

 private:
  TokenPair encoded(int64_t number, NumberLanguage language) const {
    return {tokenizer().encode(number_words(number, language)),
            tokenizer().encode(std::to_string(number))};
  }
};

}  // namespace

std::unique_ptr<GeneratedTask> numbers_task() { return std::make_unique<NumbersTask>(); }

}  // namespace headlight::data
