// Spaces taken from decoded texts: all at once and piece by piece.
#include "headlight/text/clean_up.h"

#include <gtest/gtest.h>

#include "headlight/base/base.h"

namespace headlight::text {
namespace {

TEST(CleanUp, takes_spaces_before_marks_and_apostrophes) {
  EXPECT_EQ(cleaned_up("Is n't it ' s 's ? I 'm , we 've . . you 're !"),
            "Isn't it's's? I'm, we've.. you're!");
  EXPECT_EQ(cleaned_up(" ' ' ' "), "'''");
  EXPECT_EQ(cleaned_up(""), "");
}

TEST(CleanUp, of_pieces_is_that_of_the_whole) {
  constexpr std::string_view kLetters = "  '.,ntmsvrex";
  const base::Random random(3);
  uint64_t drawn = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text(random.bits(drawn++) % 30, ' ');
    for (char& letter : text) letter = kLetters[random.bits(drawn++) % kLetters.size()];
    Uncleaned waiting;
    std::string joined;
    size_t begin = 0;
    while (text.size() - begin > 3) {
      const size_t size = random.bits(drawn++) % 4;
      joined += clean_up(waiting, text.substr(begin, size));
      begin += size;
    }
    joined += finish_clean_up(waiting, text.substr(begin));
    EXPECT_EQ(joined, cleaned_up(text)) << text;
  }
}

}  // namespace
}  // namespace headlight::text
