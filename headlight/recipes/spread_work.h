// Experiments on heads that run on several ranks: each does a part of the work.
#pragma once

#include "headlight/heads/heads.h"
#include "headlight/io/io.h"
#include "headlight/ranks/ranks.h"
#include "headlight/recipes/named_model.h"

namespace headlight::recipes {

// A watch whose pieces of work are spread over the ranks, and that stops on all of them when any is
// told to stop. Group and watch are those of one rank; the group outlives what is given.
heads::Watch spread_over(ranks::Group& group, const heads::Watch& watch);

// What ranks that share work have to have in common.
struct SharedRequest {
  io::Json::Object asked = {};  // options and their values, by name
  io::Json::Object read = {};   // checksums of files, by what they are
};
// Throws Error(usage) that names the first option that is another one on some rank, and
// Error(bad_input) that names the first file, or the model or its tokenizer.
void check_same_request(ranks::Group& group, base::FileSystem& files, const LoadedModel& loaded,
                        const SharedRequest& request);

}  // namespace headlight::recipes
