// Ranges of options, members of results.
#include "apps/cli/decoding_options.h"

namespace headlight::cli {

std::optional<infer::SearchOptions> read_search_options(Arguments& arguments) {
  constexpr int64_t kMostBeams = 1024;
  constexpr double kMostPenalty = 100;
  require_other(arguments, "length-penalty", "beam", "whose scores it is for");
  const auto length_penalty =
      arguments.real("length-penalty", {-kMostPenalty, kMostPenalty}).value_or(1);
  const auto beams = arguments.integer("beam", {1, kMostBeams});
  if (!beams) return std::nullopt;
  return infer::SearchOptions{.beams = *beams, .length_penalty = length_penalty};
}

std::optional<int64_t> read_token_limit(const Arguments& arguments) {
  constexpr int64_t kMostTokens = 1'000'000'000;
  return arguments.integer("max-new-tokens", {0, kMostTokens});
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

}  // namespace headlight::cli
