// Streams of tokens and windows over them.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "tests/data/support.h"
#include "tests/places.h"

namespace headlight::data {
namespace {

TokenStream counting(int64_t count) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  TokenStream stream(std::max<int64_t>(1, count));
  stream.append(ids);
  return stream;
}

std::vector<int64_t> all_of(const TokenStream& stream) {
  std::vector<int64_t> ids(static_cast<size_t>(stream.size()));
  stream.copy(0, ids);
  return ids;
}

TEST(TokenStream, holds_ids_of_small_and_large_vocabularies) {
  for (const int64_t vocabulary : {int64_t{65536}, int64_t{65537}, int64_t{1} << 32}) {
    TokenStream stream(vocabulary);
    stream.append(std::vector<int64_t>{0, vocabulary - 1});
    stream.append(std::vector<int64_t>{5});
    EXPECT_EQ(all_of(stream), (std::vector<int64_t>{0, vocabulary - 1, 5}));
    std::vector<int64_t> part(2);
    stream.copy(1, part);
    EXPECT_EQ(part, (std::vector<int64_t>{vocabulary - 1, 5}));
  }
}

TEST(TokenStream, refuses_ids_outside_the_vocabulary) {
  TokenStream stream(10);
  stream.append(std::vector<int64_t>{1, 2});
  EXPECT_EQ(error_of([&] {
              stream.append(std::vector<int64_t>{3, 10});
            }),
            "tokens: id 10 at place 3, the vocabulary has 10");
  EXPECT_EQ(error_of([&] { stream.append(std::vector<int64_t>{-1}); }),
            "tokens: id -1 at place 2, the vocabulary has 10");
  EXPECT_EQ(stream.size(), 2);
}

TEST(Tokenize, in_pieces_gives_the_ids_of_the_whole) {
  std::string text;
  for (int i = 0; text.size() < (size_t{5} << 19); ++i) {
    text += "Satır " + std::to_string(i) + (i % 3 == 0 ? "\n\n" : i % 3 == 1 ? " \n" : "\n");
  }
  const std::string_view view = text;
  const std::string_view sample = view.substr(0, 20000);
  for (const text::Tokenizer& tokenizer :
       {text::char_tokenizer({&view, 1}),
        text::train_bpe({&sample, 1}, {.vocabulary_size = 300})}) {
    EXPECT_EQ(all_of(tokenize(tokenizer, text, "text")), tokenizer.encode(text));
  }
}

TEST(Tokenize, does_not_cut_where_the_tokenizer_begins_each_text_with_a_space) {
  std::string text;
  while (text.size() < (size_t{3} << 19)) text += "one line\n";
  const std::string_view sample = "one line\none line\n";
  std::string json = text::train_bpe({&sample, 1}, {.vocabulary_size = 270}).json();
  const std::string_view plain = "\"add_prefix_space\":";
  const size_t at = json.find("false", json.find(plain));
  ASSERT_NE(at, std::string::npos);
  const text::Tokenizer tokenizer = text::parse_tokenizer(json.replace(at, 5, "true"), "t.json");
  EXPECT_EQ(all_of(tokenize(tokenizer, text, "text")), tokenizer.encode(text));
}

TEST(Tokenize, takes_texts_without_a_place_to_cut) {
  const std::string text((size_t{1} << 20) + 5, 'a');
  const std::string_view view = text;
  EXPECT_EQ(tokenize(text::char_tokenizer({&view, 1}), text, "text").size(),
            (int64_t{1} << 20) + 5);
  EXPECT_EQ(tokenize(text::char_tokenizer({&view, 1}), "", "text").size(), 0);
}

TEST(SplitText, keeps_the_last_tenth_of_the_characters) {
  const TextSplit split = split_text("aəbcdefghiğ가");  // 12 characters
  EXPECT_EQ(split.train, "aəbcdefghi");
  EXPECT_EQ(split.valid, "ğ가");
  EXPECT_EQ(split_text("").valid, "");
  EXPECT_EQ(split_text("a").valid, "a");
  const std::string text(1115394, 'x');
  EXPECT_EQ(split_text(text).train.size(), 1003854U);  // as nanoGPT cuts its Shakespeare
}

TEST(ValidationWindows, cover_the_shakespeare_that_nanogpt_keeps) {
  const std::string path = tests::shared_folder() + "/data/corpora/tinyshakespeare.txt";
  if (!base::exists(base::real_files(), path)) GTEST_SKIP() << path << " is absent";
  const std::string text = text::read_text(base::real_files(), path);
  const std::string_view view = text;
  const text::Tokenizer tokenizer = text::char_tokenizer({&view, 1});
  EXPECT_EQ(tokenizer.size(), 65);
  const TextSplit split = split_text(text);
  EXPECT_EQ(tokenize(tokenizer, split.train, path).size(), 1003854);
  const ValidationWindows windows(tokenize(tokenizer, split.valid, path), 64, path);
  EXPECT_EQ(windows.target_count(), 111539);
  EXPECT_EQ(windows.window_count(), 1743);
}

TEST(TrainingWindows, are_cut_anywhere_and_predict_the_next_token) {
  const TrainingWindows windows(counting(20), 8, "a.txt");
  std::map<int64_t, int> starts;
  for (uint64_t step = 0; step < 200; ++step) {
    const LmBatch batch = windows.batch(7, step, 4);
    EXPECT_EQ(batch.ids.shape(), (tensor::Shape{4, 8}));
    EXPECT_EQ(batch.target_count, 32);
    for (size_t row = 0; row < 4; ++row) {
      const std::vector<int64_t> ids = row_of(batch.ids, row), targets = row_of(batch.targets, row);
      ++starts[ids[0]];
      for (size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(ids[i], ids[0] + static_cast<int64_t>(i));
        EXPECT_EQ(targets[i], ids[i] + 1);
      }
    }
  }
  EXPECT_EQ(starts.size(), 12U);  // 0 to 11: the last target is the last token
  EXPECT_EQ(starts.rbegin()->first, 11);
  for (const auto& [start, times] : starts) EXPECT_NEAR(times, 800.0 / 12, 40) << start;
}

TEST(TrainingWindows, depend_on_seed_and_step_alone) {
  const TrainingWindows windows(counting(1000), 16, "a.txt"), again(counting(1000), 16, "a.txt");
  again.batch(1, 2, 3);
  EXPECT_TRUE(same(windows.batch(5, 9, 4).ids, again.batch(5, 9, 4).ids));
  EXPECT_FALSE(same(windows.batch(5, 9, 4).ids, windows.batch(5, 10, 4).ids));
  EXPECT_FALSE(same(windows.batch(5, 9, 4).ids, windows.batch(6, 9, 4).ids));
}

TEST(TrainingWindows, need_more_tokens_than_a_block) {
  EXPECT_EQ(error_of([] { TrainingWindows(counting(40), 256, "short.txt"); }),
            "data (short.txt): has 40 tokens, block_size 256 needs 257; give a longer text or a "
            "smaller block_size");
  EXPECT_EQ(TrainingWindows(counting(257), 256, "short.txt").batch(1, 1, 2).target_count, 512);
}

TEST(ValidationWindows, have_each_token_but_the_first_as_a_target_once) {
  for (const int64_t tokens : {2, 3, 8, 9, 10, 17, 50, 65}) {
    for (const int64_t rows : {1, 3, 100}) {
      const ValidationWindows windows(counting(tokens), 8, "a.txt");
      int64_t next = 0, total = 0;
      for (int64_t first = 0; first < windows.window_count(); first += rows) {
        const LmBatch batch = windows.batch(first, rows);
        EXPECT_LE(batch.ids.size(0), rows);
        total += batch.target_count;
        for (size_t row = 0; row < static_cast<size_t>(batch.ids.size(0)); ++row) {
          const std::vector<int64_t> ids = row_of(batch.ids, row);
          const std::vector<int64_t> targets = row_of(batch.targets, row);
          for (size_t i = 0; i < ids.size(); ++i) {
            if (targets[i] == -1) {
              EXPECT_EQ(next, tokens - 1);
              EXPECT_EQ(ids[i], 0);
              continue;
            }
            EXPECT_EQ(ids[i], next);
            EXPECT_EQ(targets[i], ++next);
          }
        }
      }
      EXPECT_EQ(next, tokens - 1);
      EXPECT_EQ(total, windows.target_count());
    }
  }
}

TEST(ValidationWindows, of_less_than_a_block_are_as_long_as_the_stream) {
  const ValidationWindows windows(counting(5), 256, "a.txt");
  EXPECT_EQ(windows.window_count(), 1);
  EXPECT_EQ(windows.batch(0, 12).ids.shape(), (tensor::Shape{1, 4}));
}

TEST(ValidationWindows, need_two_tokens) {
  EXPECT_EQ(error_of([] { ValidationWindows(counting(1), 8, "valid.txt"); }),
            "data (valid.txt): has 1 tokens, validation needs 2");
}

}  // namespace
}  // namespace headlight::data
