// Examples and relations handed to heads.
#include "headlight/recipes/head_experiments.h"

namespace headlight::recipes {

heads::HeadScores score_model_heads(base::ThreadPool& threads, base::FileSystem& files,
                                    const LoadedModel& loaded, const ExamplesRequest& request,
                                    const heads::Watch& watch) {
  const HeadExamples examples = make_head_examples(files, loaded, request);
  const heads::BehaviourOptions behaviour{
      .made = examples.made, .source = examples.source, .seed = request.seed};
  return heads::score_heads(threads, *loaded.model, examples.batches,
                            {.behaviour = behaviour, .watch = watch});
}

heads::BehaviourResult model_behaviour(base::ThreadPool& threads, const models::Model& model,
                                       const text::Tokenizer* tokenizer, uint64_t seed) {
  heads::BehaviourOptions options;
  if (tokenizer != nullptr) options = made_sequences(model, *tokenizer);
  options.seed = seed;
  return heads::measure_behaviour(threads, model, options);
}

heads::AblationResult ablate_model_heads(base::ThreadPool& threads, base::FileSystem& files,
                                         const LoadedModel& loaded, const ExamplesRequest& request,
                                         heads::AblationOptions options) {
  const HeadExamples examples = make_head_examples(files, loaded, request);
  options.seed = request.seed;
  if (!options.metric) options.metric = examples.metric;
  return heads::ablate_heads(threads, *loaded.model, examples.batches, options);
}

FoundRelation find_model_heads(base::ThreadPool& threads, base::FileSystem& files,
                               const LoadedModel& loaded, const RelationRequest& request,
                               heads::FindOptions options) {
  const RelationExamples made = make_relation(threads, files, loaded, request);
  options.seed = request.data.seed;
  if (!options.metric) options.metric = made.metric;
  if (!made.measured_on.empty()) options.measured_on = &made.measured_on;
  return {heads::find_heads(threads, *loaded.model, made.examples, made.relation, options),
          made.first_tokens};
}

io::Json::Object found_relation_json(const FoundRelation& relation) {
  io::Json::Object facts = heads::found_heads_json(relation.found);
  facts.emplace_back("first_tokens", relation.first_tokens);
  return facts;
}

}  // namespace headlight::recipes
