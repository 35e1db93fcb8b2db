// Numbers as words in four languages, written in the ways in which people write them, and read.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headlight::data {

enum class NumberLanguage { english, turkish, azerbaijani, korean };
inline constexpr std::array kNumberLanguages = {NumberLanguage::english, NumberLanguage::turkish,
                                                NumberLanguage::azerbaijani,
                                                NumberLanguage::korean};

// "en", "tr", "az", "ko".
std::string_view language_code(NumberLanguage language);

inline constexpr int64_t kLargestNumber = 999999;

// What writers of a language differ in.
enum class NumberHabit : unsigned {
  hyphen = 1,          // twenty-one
  say_and = 2,         // one hundred and one, one thousand and one
  say_a = 4,           // a hundred, where the words begin with one
  count_hundreds = 8,  // twelve hundred
  say_one = 16,        // bir min, 일만, 일백: the one that others leave out
  space_words = 32,    // yüz yirmi üç; in Korean behind thousands, hundreds and tens
  space_groups = 64,   // behind thousands, in Korean ten thousands: yüzbin üçyüz, 삼만 오백
};

// A way of writing numbers: the habits that it has.
struct NumberForm {
  NumberLanguage language = {};
  std::string_view name = {};
  unsigned habits = 0;

  bool has(NumberHabit habit) const { return (habits & static_cast<unsigned>(habit)) != 0; }
};

// The forms of a language, the first of them as number_words(number, language) writes.
//   English      hyphens, hyphens_and, words, words_and, a_hundred, twelve_hundred
//   Turkish      apart, joined, groups
//   Azerbaijani  apart, joined, ones
//   Korean       groups, joined, apart, ones, ones_joined
std::span<const NumberForm> number_forms(NumberLanguage language);

// The number in words, lower case, NFC. Throws Error outside 0 ... kLargestNumber.
//   English      as in America, without "and": two hundred five, twenty-one thousand
//   Turkish      words apart; one is not said before hundred and thousand: bin iki yüz beş
//   Azerbaijani  by the same rules: min iki yüz beş
//   Korean       Sino-Korean, a space only after the ten-thousands; one is not said before ten,
//                hundred and thousand, nor as the whole of the ten-thousands: 만 이천삼백, 십일만
std::string number_words(int64_t number, NumberLanguage language);
std::string number_words(int64_t number, const NumberForm& form);
// By somebody of changing habits, who is asked at each place where the language leaves a choice.
using NumberHabits = std::function<bool(NumberHabit)>;
std::string number_words(int64_t number, NumberLanguage language, const NumberHabits& has);

// The number that the words are in one of the languages, in its forms or a mixture of them; nothing
// when they are none within 0 ... kLargestNumber. Lower case, NFC, one space between words.
std::optional<int64_t> read_number_words(std::string_view words);

}  // namespace headlight::data
