// Options that generate and translate share: beams, and results as JSON.
#pragma once

#include <optional>

#include "apps/cli/arguments.h"
#include "headlight/infer/infer.h"

namespace headlight::cli {

// --beam and --length-penalty; nothing without --beam. Throws Error(usage).
std::optional<infer::SearchOptions> read_search_options(Arguments& arguments);
// --max-new-tokens; nothing when it is not given.
std::optional<int64_t> read_token_limit(const Arguments& arguments);

// {"ids":[...],"text":...,"log_probability":...,"stopped":"end"}; `text` only where there is a
// tokenizer.
io::Json::Object continuation_json(const infer::Continuation& continuation, bool has_text);
// The same with a "score" for each, the best first.
io::Json::Array hypotheses_json(const std::vector<infer::Hypothesis>& hypotheses, bool has_text);

}  // namespace headlight::cli
