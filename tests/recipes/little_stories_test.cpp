// Little stories: the same ones every time, and what the model `stories` can read.
#include <gtest/gtest.h>

#include <set>

#include "headlight/recipes/recipes.h"

namespace headlight::recipes {
namespace {

TEST(LittleStories, are_the_same_every_time_and_differ) {
  std::set<std::string> seen;
  for (uint64_t number = 0; number < 100; ++number) {
    const std::string story = little_story(number);
    EXPECT_EQ(story, little_story(number));
    EXPECT_TRUE(story.ends_with(".")) << story;
    EXPECT_EQ(story.find('\n'), std::string::npos) << story;
    seen.insert(story);
  }
  EXPECT_GT(seen.size(), 95U);
}

// One of each kind; `stories` was trained on just these.
TEST(LittleStories, add_up_and_say_who_it_was) {
  EXPECT_EQ(little_story(2),
            "Kerem has five pears. He gives four to Emin. Now Kerem has one pear and Emin has four "
            "pears.");
  EXPECT_EQ(little_story(5),
            "Tom and Leyla meet on the hill. Leyla shows Tom a blue horse. What does Tom see? He "
            "sees the blue horse of Leyla.");
  EXPECT_EQ(little_story(4),
            "Minho has lost a green shell. He looks for it in the garden. Deniz finds it there. "
            "\"Here is your green shell, Minho,\" says Deniz.");
}

TEST(LittleStories, are_what_the_embedded_model_has_learned) {
  FilesWithEmbedded files;
  base::ThreadPool threads(2);
  const LoadedModel loaded = load_named_model(files, "stories");
  const text::Tokenizer tokenizer = need_tokenizer(files, loaded);
  std::vector<models::Batch> rows;
  for (uint64_t number = kFirstLaterStory; number < kFirstLaterStory + 32; ++number) {
    const std::vector<int64_t> ids = tokenizer.encode(little_story(number));
    EXPECT_EQ(tokenizer.decode(ids), little_story(number));
    EXPECT_LE(static_cast<int64_t>(ids.size()), loaded.model->context_length());
    const auto count = std::ssize(ids) - 1;
    rows.push_back(
        {.ids = tensor::Tensor::of({1, count}, std::vector(ids.begin(), ids.end() - 1)),
         .targets = tensor::Tensor::of({1, count}, std::vector(ids.begin() + 1, ids.end()))});
  }
  const auto measured = heads::measure_model(threads, *loaded.model, heads::batched(rows));
  ASSERT_TRUE(measured.has_value());
  EXPECT_LT(measured->loss, 1);  // of a model that knows nothing of them: 6.1
}

}  // namespace
}  // namespace headlight::recipes
