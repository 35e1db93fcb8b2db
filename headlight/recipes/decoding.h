// How a model writes: the keys of sampling and beam search, translations of many sources, results
// as JSON.
#pragma once

#include <optional>
#include <vector>

#include "headlight/infer/infer.h"
#include "headlight/io/io.h"
#include "headlight/recipes/given_values.h"

namespace headlight::recipes {

// "beam" and "length-penalty"; nothing without "beam". Throws Error(usage).
std::optional<infer::SearchOptions> read_search_options(GivenValues& values);
// "max-new-tokens"; nothing when it is not given.
std::optional<int64_t> read_token_limit(const GivenValues& values);
// "temperature", "top-k", "top-p", "min-p" and "repetition-penalty"; greedy when none is given, and
// at temperature 1 when only a choice of tokens is.
infer::SamplingOptions read_sampling_options(const GivenValues& values, uint64_t seed);

struct TranslateOptions {
  std::optional<infer::SearchOptions> search = {};  // nothing: greedy
  int64_t max_new_tokens = infer::kNoLimit;
  std::function<void(double share)> progress = {};  // told the share that is done
};

// For each source the hypotheses, the best first; greedily there is one, with a score of 0. An
// empty source has an empty translation.
std::vector<std::vector<infer::Hypothesis>> translate(
    autograd::Context& context, const models::Model& model, const text::Tokenizer& tokenizer,
    const std::vector<std::vector<int64_t>>& sources, const TranslateOptions& options = {});

// {"ids":[...],"text":...,"log_probability":...,"stopped":"end"}; `text` only where there is a
// tokenizer.
io::Json::Object continuation_json(const infer::Continuation& continuation, bool has_text);
// The same with a "score" for each, the best first.
io::Json::Array hypotheses_json(const std::vector<infer::Hypothesis>& hypotheses, bool has_text);

}  // namespace headlight::recipes
