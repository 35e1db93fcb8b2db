// Searching a text in another: the places that std::string finds, in time for both lengths alone.
#include "headlight/text/jinja/text_search.h"

#include <gtest/gtest.h>

namespace headlight::text::jinja {
namespace {

size_t place(const std::string& sought, const std::string& text, TextSearch::Direction direction) {
  Meter meter("test", {});
  return TextSearch(sought, direction, meter).find(text);
}

TEST(TextSearch, finds_the_first_and_the_last_place) {
  const base::Random random(7);
  uint64_t next = 0;
  const auto random_text = [&](uint64_t most) {
    std::string text;
    const uint64_t length = random.below(next++, most);
    for (uint64_t i = 0; i < length; ++i) text += "ab"[random.below(next++, 2)];
    return text;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string sought = random_text(7);
    const std::string text = random_text(30);
    SCOPED_TRACE("\"" + sought + "\" in \"" + text + "\"");
    EXPECT_EQ(place(sought, text, TextSearch::Direction::from_left), text.find(sought));
    EXPECT_EQ(place(sought, text, TextSearch::Direction::from_right), text.rfind(sought));
  }
}

TEST(TextSearch, takes_no_longer_for_a_text_that_almost_fits_everywhere) {
  const std::string text(1'000'000, 'a');
  const std::string half(500'000, 'a');
  EXPECT_EQ(place(half + "b", text, TextSearch::Direction::from_left), std::string::npos);
  EXPECT_EQ(place("b" + half, text, TextSearch::Direction::from_right), std::string::npos);
  EXPECT_EQ(place(half, text + "b", TextSearch::Direction::from_right), 500'000u);
}

}  // namespace
}  // namespace headlight::text::jinja
