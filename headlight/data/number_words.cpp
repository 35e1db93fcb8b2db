// The words, and how each language puts them together.
#include "headlight/data/number_words.h"

#include <vector>

#include "headlight/base/base.h"

namespace headlight::data {
namespace {

using base::Error;
using base::ErrorKind;

// Words of a language that counts in thousands.
struct Words {
  std::array<std::string_view, 20> small;  // English has 20 words of its own, the others ten
  std::array<std::string_view, 10> tens;
  std::string_view hundred;
  std::string_view thousand;
  bool own_teens;    // English: a word for each number below 20, and a hyphen behind tens
  bool one_is_said;  // before hundred and thousand
};

constexpr Words kEnglish = {
    .small = {"zero",     "one",     "two",     "three",     "four",     "five",    "six",
              "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
              "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"},
    .tens = {"", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty",
             "ninety"},
    .hundred = "hundred",
    .thousand = "thousand",
    .own_teens = true,
    .one_is_said = true};

constexpr Words kTurkish = {
    .small = {"sıfır", "bir", "iki", "üç", "dört", "beş", "altı", "yedi", "sekiz", "dokuz"},
    .tens = {"", "on", "yirmi", "otuz", "kırk", "elli", "altmış", "yetmiş", "seksen", "doksan"},
    .hundred = "yüz",
    .thousand = "bin",
    .own_teens = false,
    .one_is_said = false};

constexpr Words kAzerbaijani = {
    .small = {"sıfır", "bir", "iki", "üç", "dörd", "beş", "altı", "yeddi", "səkkiz", "doqquz"},
    .tens = {"", "on", "iyirmi", "otuz", "qırx", "əlli", "altmış", "yetmiş", "səksən", "doxsan"},
    .hundred = "yüz",
    .thousand = "min",
    .own_teens = false,
    .one_is_said = false};

void add_word(std::string& text, std::string_view word, char between = ' ') {
  if (!text.empty()) text += between;
  text += word;
}

std::string_view word_of(const Words& words, int64_t number) {
  return words.small[static_cast<size_t>(number)];
}

void add_below_hundred(const Words& words, int64_t number, std::string& text) {
  if (number >= (words.own_teens ? 20 : 10)) {
    add_word(text, words.tens[static_cast<size_t>(number / 10)]);
    if (number % 10 == 0) return;
    add_word(text, word_of(words, number % 10), words.own_teens ? '-' : ' ');
  } else if (number > 0) {
    add_word(text, word_of(words, number));
  }
}

void add_below_thousand(const Words& words, int64_t number, std::string& text) {
  const int64_t hundreds = number / 100;
  if (hundreds > 1 || (hundreds == 1 && words.one_is_said))
    add_word(text, word_of(words, hundreds));
  if (hundreds > 0) add_word(text, words.hundred);
  add_below_hundred(words, number % 100, text);
}

std::string in_thousands(const Words& words, int64_t number) {
  if (number == 0) return std::string(words.small[0]);
  std::string text;
  const int64_t thousands = number / 1000;
  if (thousands > 1 || (thousands == 1 && words.one_is_said)) {
    add_below_thousand(words, thousands, text);
  }
  if (thousands > 0) add_word(text, words.thousand);
  add_below_thousand(words, number % 1000, text);
  return text;
}

// Up to 9,999: digits with their places, one left out before a place.
std::string korean_group(int64_t number) {
  constexpr std::array<std::string_view, 10> kDigits = {"",   "일", "이", "삼", "사",
                                                        "오", "육", "칠", "팔", "구"};
  constexpr std::array<std::string_view, 3> kPlaces = {"천", "백", "십"};
  std::string text;
  int64_t unit = 1000;
  for (const std::string_view place : kPlaces) {
    const int64_t digit = number / unit % 10;
    if (digit > 1) text += kDigits[static_cast<size_t>(digit)];
    if (digit > 0) text += place;
    unit /= 10;
  }
  return text.append(kDigits[static_cast<size_t>(number % 10)]);
}

std::string in_korean(int64_t number) {
  if (number == 0) return "영";
  const int64_t myriads = number / 10000;
  std::string text;
  if (myriads > 1) text = korean_group(myriads);
  if (myriads > 0) text += "만";
  const std::string rest = korean_group(number % 10000);
  if (!rest.empty()) add_word(text, rest);
  return text;
}

}  // namespace

std::string_view language_code(NumberLanguage language) {
  constexpr std::array<std::string_view, 4> kCodes = {"en", "tr", "az", "ko"};
  return kCodes[static_cast<size_t>(language)];
}

std::string number_words(int64_t number, NumberLanguage language) {
  if (number < 0 || number > kLargestNumber) {
    throw Error(ErrorKind::bad_input, "number words", "",
                std::to_string(number) + " is not within 0 and " + std::to_string(kLargestNumber));
  }
  switch (language) {
    case NumberLanguage::english:
      return in_thousands(kEnglish, number);
    case NumberLanguage::turkish:
      return in_thousands(kTurkish, number);
    case NumberLanguage::azerbaijani:
      return in_thousands(kAzerbaijani, number);
    case NumberLanguage::korean:
      return in_korean(number);
  }
  return {};
}

}  // namespace headlight::data
