// The words of numbers, language by language. For data's own use.
#pragma once

#include <array>
#include <string_view>

namespace headlight::data {

// Words of a language that counts in thousands.
struct NumberLexicon {
  std::array<std::string_view, 20> small;  // English has 20 words of its own, the others ten
  std::array<std::string_view, 10> tens;
  std::string_view hundred;
  std::string_view thousand;
  bool is_english;   // a word for each number below 20; "and"; one is said before hundred, thousand
  bool may_say_one;  // before hundred and thousand
};

inline constexpr NumberLexicon kEnglishNumbers = {
    .small = {"zero",     "one",     "two",     "three",     "four",     "five",    "six",
              "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
              "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"},
    .tens = {"", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty",
             "ninety"},
    .hundred = "hundred",
    .thousand = "thousand",
    .is_english = true,
    .may_say_one = true};

inline constexpr NumberLexicon kTurkishNumbers = {
    .small = {"sıfır", "bir", "iki", "üç", "dört", "beş", "altı", "yedi", "sekiz", "dokuz"},
    .tens = {"", "on", "yirmi", "otuz", "kırk", "elli", "altmış", "yetmiş", "seksen", "doksan"},
    .hundred = "yüz",
    .thousand = "bin",
    .is_english = false,
    .may_say_one = false};

inline constexpr NumberLexicon kAzerbaijaniNumbers = {
    .small = {"sıfır", "bir", "iki", "üç", "dörd", "beş", "altı", "yeddi", "səkkiz", "doqquz"},
    .tens = {"", "on", "iyirmi", "otuz", "qırx", "əlli", "altmış", "yetmiş", "səksən", "doxsan"},
    .hundred = "yüz",
    .thousand = "min",
    .is_english = false,
    .may_say_one = true};

inline constexpr std::string_view kKoreanZero = "영";
inline constexpr std::array<std::string_view, 10> kKoreanDigits = {"",   "일", "이", "삼", "사",
                                                                   "오", "육", "칠", "팔", "구"};
inline constexpr std::array<std::string_view, 3> kKoreanPlaces = {"천", "백", "십"};
inline constexpr std::string_view kKoreanTenThousand = "만";

}  // namespace headlight::data
