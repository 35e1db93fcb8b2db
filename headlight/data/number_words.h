// Numbers as words in four languages.
#pragma once

#include <array>
#include <cstdint>
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

// The number in words, lower case, NFC. Throws Error outside 0 ... kLargestNumber.
//   English      as in America, without "and": two hundred five, twenty-one thousand
//   Turkish      words apart; one is not said before hundred and thousand: bin iki yüz beş
//   Azerbaijani  by the same rules: min iki yüz beş
//   Korean       Sino-Korean, a space only after the ten-thousands; one is not said before ten,
//                hundred and thousand, nor as the whole of the ten-thousands: 만 이천삼백, 십일만
std::string number_words(int64_t number, NumberLanguage language);

}  // namespace headlight::data
