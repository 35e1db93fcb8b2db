// Little stories: what the model `stories` that comes with Headlight was trained on.
#pragma once

#include <cstdint>
#include <string>

namespace headlight::recipes {

// One line, the same for a number every time. Who is named comes back, things are counted, and the
// end answers a question, so that a model has something to look back at.
std::string little_story(uint64_t number);

// `stories` was trained on those before this number. Later ones are other draws, of which some come
// out the same.
inline constexpr uint64_t kFirstLaterStory = 30'000;

}  // namespace headlight::recipes
