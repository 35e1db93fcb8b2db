// Experiments on the heads of a model, from a request to a result.
#pragma once

#include "headlight/recipes/head_examples.h"
#include "headlight/recipes/word_pairs.h"

namespace headlight::recipes {

// What every head is worth and does, on the examples that the request names.
heads::HeadScores score_model_heads(base::ThreadPool& threads, base::FileSystem& files,
                                    const LoadedModel& loaded, const ExamplesRequest& request,
                                    const heads::Watch& watch = {});

// What its heads do on random tokens that are repeated, specials left out, which need no data.
// `tokenizer`: null where it has none.
heads::BehaviourResult model_behaviour(base::ThreadPool& threads, const models::Model& model,
                                       const text::Tokenizer* tokenizer, uint64_t seed = 0);

// The loss without heads; of a generated task the share of exact matches too. The options' seed is
// the request's, and their metric that of the task where they bring none.
heads::AblationResult ablate_model_heads(base::ThreadPool& threads, base::FileSystem& files,
                                         const LoadedModel& loaded, const ExamplesRequest& request,
                                         heads::AblationOptions options = {});

// Which heads carry a relation. The options as above.
struct FoundRelation {
  heads::FoundHeads found;
  int64_t first_tokens = 0;  // words of several tokens, of which the first counted
};
FoundRelation find_model_heads(base::ThreadPool& threads, base::FileSystem& files,
                               const LoadedModel& loaded, const RelationRequest& request,
                               heads::FindOptions options = {});
// found_heads_json() and "first_tokens".
io::Json::Object found_relation_json(const FoundRelation& relation);

}  // namespace headlight::recipes
