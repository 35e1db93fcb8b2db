// Windows with hidden words: what is hidden, how often, and that it depends on numbers alone.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/data/support.h"

namespace headlight::data {
namespace {

class MaskedWindows : public testing::Test {
 protected:
  MaskedWindows() {
    for (int i = 0; i < 400; ++i) text_ += static_cast<char>('a' + (i * i + i / 7) % 23);
  }
  text::Tokenizer tokenizer() const {
    const std::string_view view = text_;
    return text::char_tokenizer({&view, 1}, text::masked_tokens());
  }
  MaskedWindowOptions options(int64_t block_size) const {
    return masked_window_options(tokenizer(), block_size, "tokenizer");
  }
  TokenStream tokens() const { return tokenize(tokenizer(), text_, "text"); }

  std::string text_;
};

TEST_F(MaskedWindows, stand_in_what_the_tokenizer_puts_around_a_text) {
  const MaskedTrainingWindows windows(tokens(), options(10), "text");
  const MaskedBatch batch = windows.batch(1, 2, 3);
  const text::Tokenizer words = tokenizer();
  for (size_t row = 0; row < 3; ++row) {
    const std::vector<int64_t> ids = row_of(batch.ids, row);
    EXPECT_EQ(ids.size(), 10u);
    EXPECT_EQ(words.token(ids.front()), "[CLS]");
    EXPECT_EQ(words.token(ids.back()), "[SEP]");
    EXPECT_EQ(row_of(batch.targets, row).front(), -1);
    EXPECT_EQ(row_of(batch.targets, row).back(), -1);
    EXPECT_EQ(batch.lens.data<int64_t>()[row], 10);
  }
}

// Behind every target stands the mask, another word, or the word itself.
TEST_F(MaskedWindows, hide_the_shares_that_BERT_hides) {
  const MaskedTrainingWindows windows(tokens(), options(66), "text");
  const int64_t mask = *tokenizer().special().mask;
  std::map<std::string, double> counts;
  for (uint64_t step = 0; step < 40; ++step) {
    const MaskedBatch batch = windows.batch(7, step, 8);
    for (size_t row = 0; row < 8; ++row) {
      const std::vector<int64_t> ids = row_of(batch.ids, row), targets = row_of(batch.targets, row);
      for (size_t i = 1; i + 1 < ids.size(); ++i) {
        ++counts["all"];
        if (targets[i] < 0) {
          EXPECT_NE(ids[i], mask);
          continue;
        }
        ++counts["hidden"];
        ++counts[ids[i] == mask ? "mask" : ids[i] == targets[i] ? "same" : "other"];
      }
    }
  }
  EXPECT_NEAR(counts["hidden"] / counts["all"], 0.15, 0.01);
  EXPECT_NEAR(counts["mask"] / counts["hidden"], 0.8, 0.03);
  EXPECT_NEAR(counts["other"] / counts["hidden"], 0.1, 0.03);
  EXPECT_NEAR(counts["same"] / counts["hidden"], 0.1, 0.03);
}

TEST_F(MaskedWindows, depend_on_seed_step_and_row_alone) {
  const MaskedTrainingWindows windows(tokens(), options(20), "text");
  const MaskedBatch few = windows.batch(3, 5, 2), many = windows.batch(3, 5, 6);
  for (size_t row = 0; row < 2; ++row) {
    EXPECT_EQ(row_of(few.ids, row), row_of(many.ids, row));
    EXPECT_EQ(row_of(few.targets, row), row_of(many.targets, row));
  }
  EXPECT_FALSE(same(windows.batch(3, 6, 2).targets, few.targets));
  EXPECT_FALSE(same(windows.batch(4, 5, 2).targets, few.targets));
  EXPECT_NE(row_of(many.targets, 0), row_of(many.targets, 1));
}

TEST_F(MaskedWindows, of_validation_hold_every_token_once_and_hide_the_same_every_time) {
  const MaskedValidationWindows windows(tokens(), options(66), "text");
  ASSERT_EQ(windows.window_count(), 7);  // of 64 tokens, the last of 16
  const MaskedBatch all = windows.batch(0, 100);
  EXPECT_EQ(all.ids.size(0), 7);
  EXPECT_EQ(all.lens.data<int64_t>()[6], 18);
  std::string seen;
  int64_t targets = 0;
  for (size_t row = 0; row < 7; ++row) {
    const MaskedBatch alone = windows.batch(static_cast<int64_t>(row), 1);
    EXPECT_EQ(row_of(alone.ids, 0), row_of(all.ids, row));
    std::vector<int64_t> ids = row_of(all.ids, row);
    const std::vector<int64_t> hidden = row_of(all.targets, row);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (hidden[i] < 0) continue;
      ids[i] = hidden[i];
      ++targets;
    }
    seen += tokenizer().decode(ids, {.special = false});
  }
  EXPECT_EQ(seen, text_);
  EXPECT_EQ(windows.target_count(), targets);
  EXPECT_GT(targets, 30);
}

TEST_F(MaskedWindows, of_a_text_shorter_than_one_are_as_long_as_it_is) {
  const text::Tokenizer words = tokenizer();
  const MaskedValidationWindows windows(tokenize(words, text_.substr(0, 5), "text"), options(66),
                                        "text");
  EXPECT_EQ(windows.window_length(), 7);
  EXPECT_EQ(windows.batch(0, 1).ids.size(1), 7);
  EXPECT_EQ(windows.target_count() > 0, true) << "one word is always hidden";
}

TEST_F(MaskedWindows, that_cannot_be_are_refused) {
  EXPECT_EQ(error_of([&] { MaskedTrainingWindows(tokens(), options(500), "a.txt"); }),
            "data (a.txt): has 400 tokens, block_size 500 needs 498; give a longer text or a "
            "smaller block_size");
  EXPECT_EQ(error_of([&] { MaskedTrainingWindows(tokens(), options(2), "a.txt"); }),
            "data (a.txt): block_size 2 leaves no room between the 2 tokens that the tokenizer "
            "puts around a text");
  const std::string_view view = text_;
  const text::Tokenizer plain = text::char_tokenizer({&view, 1});
  EXPECT_EQ(error_of([&] { masked_window_options(plain, 10, "letters"); }),
            "tokenizer (letters): has no token [MASK] or <mask> to hide words with");
  EXPECT_EQ(error_of([&] {
              MaskedValidationWindows(tokenize(tokenizer(), "ÄÖÜ", "b.txt"), options(10), "b.txt");
            }),
            "data (b.txt): has no word that could be hidden");
}

}  // namespace
}  // namespace headlight::data
