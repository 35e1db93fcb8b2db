// Experiments on heads that run on several ranks: each does a part of the work.
#pragma once

#include "headlight/heads/heads.h"
#include "headlight/io/io.h"
#include "headlight/ranks/ranks.h"

namespace headlight::recipes {

// A watch whose pieces of work are spread over the ranks, and that stops on all of them when any is
// told to stop. Group and watch are those of one rank; the group outlives what is given.
heads::Watch spread_over(ranks::Group& group, const heads::Watch& watch);

// Throws Error(usage) that names the first part of a request that is another one on some rank, and
// Error(bad_input) where the model is another one.
void check_same_experiment(ranks::Group& group, const io::Json::Object& request,
                           const models::Model& model);

}  // namespace headlight::recipes
