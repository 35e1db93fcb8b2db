// Tables of heads_experiment, in Markdown: a row for what is asked, a column for each model and,
// where there are several, their mean.
#pragma once

#include <string>
#include <vector>

#include "headlight/recipes/recipes.h"

namespace headlight {

struct StudiedSeed {
  int64_t seed = 0;
  recipes::HeadsStudy study;
};

// All of them, each with its heading.
std::string study_tables(const std::vector<StudiedSeed>& studies);

// "encoder", "decoder" or "cross".
std::string type_of_head(const heads::HeadName& head);

}  // namespace headlight
