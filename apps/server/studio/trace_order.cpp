// Fields of a trace, as `headlight explain` has options.
#include "apps/server/studio/trace_order.h"

#include <algorithm>
#include <array>

#include "apps/server/studio/studio.h"

namespace headlight::server::studio {
namespace {

constexpr int64_t kMostSize = 1024;
constexpr int64_t kMostWorkedLayers = 12;
constexpr int64_t kMostLayer = 9999;
constexpr size_t kMostIds = 65536;
constexpr size_t kMostSentences = 1000;
constexpr size_t kMostVariants = 64;
constexpr size_t kMostWeightLetters = 900'000;
constexpr std::string_view kWorkedFields[] = {"sentences",   "heads", "head_width", "width",
                                              "layer_count", "seed",  "weights",    "train"};

void read_input(BodyFields& body, narrate::ExplainRequest& request) {
  for (const char* name : {"text", "target"}) body.exclude(name, "ids");
  for (const char* name : {"target", "target_ids"}) body.exclude("continue", name);
  request.text = body.text("text", kSomeText).value_or("");
  request.target = body.text("target", kSomeText);
  request.ids = body.integers("ids", kAnyId, kMostIds);
  request.target_ids = body.integers("target_ids", kAnyId, kMostIds);
  if (request.text.empty() && !request.ids) body.refuse("text", "is missing; or ids");
  if (request.ids && request.ids->empty()) body.refuse("ids", "is empty");
  if (request.target_ids && !request.ids) body.refuse("target_ids", "goes with ids");
  request.special = body.flag("special");
  request.worked.special = request.special;
  request.continues = body.integer("continue", {0, kMostSize});
  for (const int64_t layer :
       body.integers("layers", {0, kMostLayer}, kMostSize).value_or(std::vector<int64_t>())) {
    request.layers.insert(layer);
  }
}

void read_variants(BodyFields& body, narrate::ExplainRequest& request) {
  constexpr std::array<std::string_view, 4> kScales = {"sqrt_head_width", "sqrt_width", "width",
                                                       "none"};
  constexpr std::array<std::string_view, 2> kNorms = {"post", "pre"};
  constexpr std::array<std::string_view, 16> kVariants = {"scale.sqrt_head_width",
                                                          "scale.sqrt_width",
                                                          "scale.width",
                                                          "scale.none",
                                                          "norm.post",
                                                          "norm.pre",
                                                          "epsilon.inside",
                                                          "epsilon.outside",
                                                          "deviation.population",
                                                          "deviation.sample",
                                                          "feed_forward.two",
                                                          "feed_forward.one",
                                                          "position_index.pair",
                                                          "position_index.column",
                                                          "prediction.per_position",
                                                          "prediction.flattened"};
  const auto asked = body.texts("variants", kMostVariants);
  for (size_t i = 0; asked && i < asked->size(); ++i) {
    const std::string& key = (*asked)[i];
    if (std::ranges::find(kVariants, key) == kVariants.end()) {
      body.refuse("variants[" + std::to_string(i) + "]",
                  "there is no variant " + io::in_quotes(key) + base::nearest_hint(key, kVariants));
    }
    request.variants.insert(key);
  }
  if (const auto scale = body.choice("scale", kScales)) request.variants.insert("scale." + *scale);
  if (const auto norm = body.choice("norm", kNorms)) request.variants.insert("norm." + *norm);
  request.worked.pre_norm = request.variants.contains("norm.pre");
}

void read_worked(BodyFields& body, narrate::ExplainRequest& request) {
  recipes::WorkedModelOptions& worked = request.worked;
  request.pairs = read_sentences(body);
  worked.heads = body.integer("heads", {1, kMostSize}).value_or(worked.heads);
  worked.head_width = body.integer("head_width", {1, kMostSize}).value_or(worked.head_width);
  worked.width = body.integer("width", {2, kMostSize}).value_or(worked.width);
  if (worked.width % 2 != 0) {
    body.refuse("width", "must be even: sines and cosines come in pairs, is " +
                             std::to_string(worked.width));
  }
  worked.layers = body.integer("layer_count", {1, kMostWorkedLayers}).value_or(worked.layers);
  worked.seed = static_cast<uint64_t>(
      body.integer("seed", kAnySeed).value_or(static_cast<int64_t>(worked.seed)));
  if (const auto letters = body.text("weights", {1, kMostWeightLetters})) {
    request.weights_bytes = bytes_of_letters(*letters);
    if (!request.weights_bytes) body.refuse("weights", "is not base 64");
  }
  request.train = body.flag("train");
}

}  // namespace

std::vector<recipes::SentencePair> read_sentences(BodyFields& body) {
  std::vector<recipes::SentencePair> pairs;
  auto sentences = body.objects("sentences", kMostSentences);
  if (!sentences) return pairs;
  for (BodyFields& one : *sentences) {
    pairs.push_back({one.needed_text("source"), one.needed_text("target")});
    one.refuse_others();
  }
  if (pairs.empty()) body.refuse("sentences", "is empty");
  return pairs;
}

TraceOrder read_trace_order(const std::string& body_text) {
  BodyFields body = BodyFields::parse(body_text);
  TraceOrder order{.model = body.text("model", kSomeText).value_or(std::string(kWorked))};
  narrate::ExplainRequest& request = order.request;
  read_input(body, request);
  read_variants(body, request);
  if (order.model != kWorked) {
    request.model = order.model;
    for (const std::string_view name : kWorkedFields) {
      if (body.has(name)) body.refuse(name, "is for the model worked alone");
    }
  }
  read_worked(body, request);
  if (const auto weight = body.text("weight", kSomeText)) {
    about("weight", [&] { explain::check_cell(*weight); });
    request.cell = weight;
    request.backward = true;
  }
  if (body.has("backward")) {
    request.backward = body.flag("backward");
    if (!request.backward && request.cell) body.refuse("weight", "asks for the way back");
    request.skips_backward = !request.backward;
  } else {
    body.flag("backward");
  }
  body.refuse_others();
  request.is_typed = false;
  return order;
}

}  // namespace headlight::server::studio
