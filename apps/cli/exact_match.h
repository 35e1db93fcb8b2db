// How many of a generated task's held-out cases a model gets exactly right.
#pragma once

#include "headlight/data/data.h"
#include "headlight/io/io.h"
#include "headlight/models/models.h"

namespace headlight::cli {

// {"exact_match", share of all cases} and, for a task of several kinds, {"exact_match_en", ...} for
// each.
io::Json::Object exact_match(base::ThreadPool& threads, const models::Model& model,
                             const data::GeneratedTask& task);

}  // namespace headlight::cli
