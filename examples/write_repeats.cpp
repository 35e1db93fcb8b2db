// Writes lines in which meaningless words are repeated, the same lines every time: what the
// embedded model `repeats` was trained on. Which words and how many is drawn for each line, all
// words alike, so that the next word can be known only from what followed the same word before.
// Usage: example_write_repeats [COUNT], to standard output.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/base.h"

namespace {

using headlight::base::Random;
using Words = std::vector<std::string>;

// A word is one of each: "ka", "lo", "mi".
constexpr std::string_view kBegins = "bdfghklmnprstvyz";
constexpr std::string_view kEnds = "aeiou";

struct Range {
  size_t fewest;
  size_t most;
};
constexpr Range kRepeated = {3, 32};  // words of a line that repeats all of them in their order
constexpr Range kPhrases = {3, 8};    // phrases of a line that repeats these in any order
constexpr Range kPhrase = {2, 4};     // words of a phrase
constexpr size_t kLine = 72;          // words of a line, at least

// The draws of one line.
class Dice {
 public:
  explicit Dice(uint64_t line) : random_(headlight::base::mix(11, line)) {}
  size_t below(size_t bound) { return static_cast<size_t>(random_.below(count_++, bound)); }
  size_t in(Range range) { return range.fewest + below(range.most - range.fewest + 1); }

 private:
  Random random_;
  uint64_t count_ = 0;
};

// All words, in an order of this line.
Words shuffled_words(Dice& dice) {
  Words words;
  for (const char begin : kBegins) {
    for (const char end : kEnds) words.push_back({begin, end});
  }
  for (size_t i = 0; i + 1 < words.size(); ++i)
    std::swap(words[i], words[i + dice.below(words.size() - i)]);
  return words;
}

// The first `count` words over and over, at least twice: "ka lo mi ka lo mi".
Words repeated(const Words& words, size_t count) {
  Words line;
  while (line.size() < kLine || line.size() < 2 * count)
    line.insert(line.end(), words.begin(), words.begin() + static_cast<ptrdiff_t>(count));
  return line;
}

// Phrases of different words, one after the other as they are drawn: "ka lo mi tu ka lo ka lo".
Words phrases(Dice& dice, const Words& words) {
  std::vector<Words> all;
  auto next = words.begin();
  for (size_t count = dice.in(kPhrases); count > 0; --count) {
    const auto end = next + static_cast<ptrdiff_t>(dice.in(kPhrase));
    all.emplace_back(next, end);
    next = end;
  }
  Words line;
  while (line.size() < kLine) {
    const Words& phrase = all[dice.below(all.size())];
    line.insert(line.end(), phrase.begin(), phrase.end());
  }
  return line;
}

// Of ten lines four repeat two words, the shortest way back that there is; without them a model
// learns to look further back than the word before. Three repeat more words, three have phrases.
std::string line(uint64_t number) {
  Dice dice(number);
  const Words all = shuffled_words(dice);
  const size_t kind = dice.below(10);
  const Words words = kind < 4   ? repeated(all, 2)
                      : kind < 7 ? repeated(all, dice.in(kRepeated))
                                 : phrases(dice, all);
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 5;
  for (long number = 0; number < count; ++number)
    std::puts(line(static_cast<uint64_t>(number)).c_str());
  return count > 0 ? 0 : 1;
}
