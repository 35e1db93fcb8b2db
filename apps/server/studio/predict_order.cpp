// Fields of a prediction, as `headlight generate` has options.
#include "apps/server/studio/predict_order.h"

#include "apps/server/studio/studio.h"

namespace headlight::server::studio {
namespace {

constexpr size_t kMostPromptIds = 65536;
constexpr size_t kMostHeads = 4096;
constexpr int64_t kMostNewTokens = 4096;
constexpr TextRange kHeadName = {1, 200};

std::vector<heads::HeadName> head_list(BodyFields& body, std::string_view name) {
  std::vector<heads::HeadName> heads;
  const auto names = body.texts(name, kMostHeads, kHeadName);
  for (size_t i = 0; names && i < names->size(); ++i) {
    const std::string field = std::string(name) + "[" + std::to_string(i) + "]";
    const std::vector<heads::HeadName> one =
        about(field, [&] { return heads::parse_head_names((*names)[i], name); });
    heads.insert(heads.end(), one.begin(), one.end());
  }
  return heads;
}

void read_prompt_fields(BodyFields& body, recipes::NextWordsRequest& request) {
  for (const char* text : {"prompt", "source"}) {
    for (const char* ids : {"ids", "source_ids"}) body.exclude(text, ids);
  }
  request.text.prompt = body.text("prompt").value_or("");
  request.text.source = body.text("source", kSomeText);
  request.text.at = body.integer("at", {0, INT32_MAX});
  request.ids = body.integers("ids", kAnyId, kMostPromptIds);
  request.source_ids = body.integers("source_ids", kAnyId, kMostPromptIds);
  request.append_ids =
      body.integers("append_ids", kAnyId, kMostPromptIds).value_or(std::vector<int64_t>());
  request.special = body.flag("special");
}

void read_sampling(BodyFields& body, infer::SamplingOptions& sampling) {
  const auto number = [&](const char* name, NumberRange range, float otherwise) {
    return static_cast<float>(body.number(name, range).value_or(static_cast<double>(otherwise)));
  };
  sampling.temperature = number("temperature", {0, 100}, sampling.temperature);
  sampling.top_k = body.integer("top_k", {0, 1'000'000}).value_or(sampling.top_k);
  sampling.top_p = number("top_p", {0, 1}, sampling.top_p);
  sampling.min_p = number("min_p", {0, 1}, sampling.min_p);
  sampling.repetition_penalty =
      number("repetition_penalty", {0.01, 100}, sampling.repetition_penalty);
  sampling.seed = static_cast<uint64_t>(body.integer("seed", kAnySeed).value_or(0));
}

// "none", "all", or a list of heads.
void read_attention(BodyFields& body, recipes::NextWordsRequest& request) {
  constexpr std::string_view kWords[] = {"none", "all"};
  const io::Json* value = body.value("attention");
  if (value != nullptr && value->text() != nullptr) {
    request.all_attention = body.choice("attention", kWords) == "all";
  } else if (value != nullptr) {
    request.attention = head_list(body, "attention");
  }
}

}  // namespace

PredictOrder read_predict_order(const std::string& body_text) {
  BodyFields body = BodyFields::parse(body_text);
  PredictOrder order;
  body.exclude("model", "trace");
  body.exclude("model", "run");
  order.model = body.text("model", kSomeText);
  order.trace = body.text("trace", kSomeText);
  order.run = body.integer("run", {0, INT32_MAX});
  if (!order.model && !order.trace) body.refuse("model", "is missing; or trace");
  recipes::NextWordsRequest& request = order.request;
  read_prompt_fields(body, request);
  read_sampling(body, request.sampling);
  request.max_new_tokens =
      body.integer("max_new_tokens", {1, kMostNewTokens}).value_or(request.max_new_tokens);
  request.best = body.integer("best", {1, 100}).value_or(request.best);
  request.stages = body.flag("stages");
  request.lens = body.flag("lens");
  request.heads_off = head_list(body, "heads_off");
  read_attention(body, request);
  order.stream = body.flag("stream");
  body.refuse_others();
  return order;
}

}  // namespace headlight::server::studio
