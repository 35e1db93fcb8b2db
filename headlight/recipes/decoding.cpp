// Ranges of keys, translations, members of results.
#include "headlight/recipes/decoding.h"

#include <limits>

namespace headlight::recipes {

std::optional<infer::SearchOptions> read_search_options(GivenValues& values) {
  constexpr int64_t kMostBeams = 1024;
  constexpr double kMostPenalty = 100;
  require_other(values, "length-penalty", "beam", "whose scores it is for");
  const auto length_penalty =
      values.real("length-penalty", {-kMostPenalty, kMostPenalty}).value_or(1);
  const auto beams = values.integer("beam", {1, kMostBeams});
  if (!beams) return std::nullopt;
  return infer::SearchOptions{.beams = *beams, .length_penalty = length_penalty};
}

std::optional<int64_t> read_token_limit(const GivenValues& values) {
  constexpr int64_t kMostTokens = 1'000'000'000;
  return values.integer("max-new-tokens", {0, kMostTokens});
}

infer::SamplingOptions read_sampling_options(const GivenValues& values, uint64_t seed) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  infer::SamplingOptions sampling{.seed = seed};
  const bool samples = values.has("top-k") || values.has("top-p") || values.has("min-p");
  const auto real = [&](std::string_view name, Range<double> range, double otherwise) {
    return static_cast<float>(values.real(name, range).value_or(otherwise));
  };
  sampling.repetition_penalty = real("repetition-penalty", {0.01, 100}, 1);
  sampling.temperature = real("temperature", {0, kLargest}, samples ? 1 : 0);
  sampling.top_k = values.integer("top-k", {0, INT64_MAX}).value_or(0);
  sampling.top_p = real("top-p", {0, 1}, 1);
  sampling.min_p = real("min-p", {0, 1}, 0);
  return sampling;
}

std::vector<std::vector<infer::Hypothesis>> translate(
    autograd::Context& context, const models::Model& model, const text::Tokenizer& tokenizer,
    const std::vector<std::vector<int64_t>>& sources, const TranslateOptions& options) {
  infer::OutputOptions output_options;
  output_options.ending.tokenizer = &tokenizer;
  output_options.ending.max_new_tokens = options.max_new_tokens;
  output_options.progress = options.progress;
  std::vector<std::vector<int64_t>> written;  // those that are not empty
  for (const std::vector<int64_t>& ids : sources) {
    if (!ids.empty()) written.push_back(ids);
  }
  std::vector<std::vector<infer::Hypothesis>> found;
  if (options.search) {
    found = infer::beam_outputs(context, model, written, *options.search, output_options);
  } else {
    for (auto& output : infer::greedy_outputs(context, model, written, output_options))
      found.push_back({{std::move(output), 0}});
  }
  infer::Hypothesis nothing;
  nothing.reason = infer::StopReason::end;
  std::vector<std::vector<infer::Hypothesis>> results;
  size_t next = 0;
  for (const std::vector<int64_t>& ids : sources) {
    if (ids.empty()) {
      results.push_back({nothing});
    } else {
      results.push_back(std::move(found[next++]));
    }
  }
  return results;
}

io::Json::Object continuation_json(const infer::Continuation& continuation, bool has_text) {
  io::Json::Object json{{"ids", io::Json::Array(continuation.ids.begin(), continuation.ids.end())}};
  if (has_text) json.emplace_back("text", continuation.text);
  json.emplace_back("log_probability", continuation.log_probability());
  json.emplace_back("stopped", infer::stop_reason_name(continuation.reason));
  return json;
}

io::Json::Array hypotheses_json(const std::vector<infer::Hypothesis>& hypotheses, bool has_text) {
  io::Json::Array list;
  for (const infer::Hypothesis& hypothesis : hypotheses) {
    io::Json::Object json = continuation_json(hypothesis, has_text);
    json.emplace_back("score", hypothesis.score);
    list.emplace_back(std::move(json));
  }
  return list;
}

}  // namespace headlight::recipes
