// The trained model of the exercises of the lesson `d2l`, and what it reads.
#include "headlight/narrate/lessons/d2l.h"

namespace headlight::narrate {
namespace {

constexpr int64_t kStoryCount = 16;  // of either kind
constexpr uint64_t kMostSeeds = 1'000'000;

heads::Examples read_stories(const StoriesModel& stories, uint64_t first) {
  std::vector<models::Batch> rows;
  for (int64_t i = 0; i < kStoryCount; ++i) {
    const std::string story = recipes::little_story(first + static_cast<uint64_t>(i));
    rows.push_back(explain::make_input(stories.model(), *stories.tokenizer, {.text = story}).batch);
  }
  return heads::batched(rows);
}

StoriesModel read_stories_model(uint64_t seed) {
  StoriesModel stories{.files = std::make_unique<recipes::FilesWithEmbedded>(), .loaded = {}};
  stories.loaded = recipes::load_named_model(*stories.files, "embedded:stories");
  stories.tokenizer.emplace(recipes::need_tokenizer(*stories.files, stories.loaded));
  const uint64_t first = recipes::kFirstLaterStory + seed % kMostSeeds * 2 * kStoryCount;
  stories.first = recipes::little_story(first);
  stories.count = kStoryCount;
  stories.chosen_by = read_stories(stories, first);
  stories.measured_on = read_stories(stories, first + kStoryCount);
  return stories;
}

}  // namespace

const StoriesModel& stories_model(LessonOptions& options) {
  return options.runs->once("stories model", [&] { return read_stories_model(options.seed); });
}

}  // namespace headlight::narrate
