// GET /api/models, GET /api/texts and POST /api/tokenize.
#include <algorithm>

#include "apps/server/studio/studio.h"
#include "apps/server/studio/trace_order.h"

namespace headlight::server::studio {
namespace {

using io::Json;

Json can_json(const models::Model& model) {
  const models::Capabilities can = model.capabilities();
  return Json::Object{{"continues_prompt", can.continues_prompt},
                      {"translates", can.translates},
                      {"fills_masks", can.fills_masks},
                      {"embeds", can.embeds},
                      {"classifies", can.classifies},
                      {"predicts", model.has_logits()}};
}

Json tokenizer_json(const std::optional<text::Tokenizer>& tokenizer) {
  if (!tokenizer) return {};
  constexpr int64_t kMostSpecial = 100;
  Json::Array special;
  for (int64_t id = 0; id < tokenizer->size() && std::ssize(special) < kMostSpecial; ++id) {
    if (tokenizer->is_special(id)) special.emplace_back(tokenizer->token(id));
  }
  const auto mask = tokenizer->special().mask;
  return Json::Object{{"kind", tokenizer->kind()},
                      {"size", tokenizer->size()},
                      {"special", std::move(special)},
                      {"mask", mask ? Json(tokenizer->token(*mask)) : Json()},
                      {"has_unknown", tokenizer->special().unk.has_value()}};
}

int64_t layer_count(const nn::TransformerStack* stack) {
  return stack == nullptr ? 0 : static_cast<int64_t>(stack->blocks().size());
}

// The text of the command that shows what an embedded model is for.
Json example_json(const ServedModel& served) {
  if (!served.loaded.folder.starts_with("embedded:")) return {};
  const std::vector<std::string> words = recipes::embedded_example(served.name);
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--text" || words[i] == "--prompt") return words[i + 1];
  }
  return {};
}

Json model_json(const ServedModel& served, const std::string& job, const Json& reference) {
  const models::Model& model = served.model();
  const recipes::ModelInformation& known = served.information;
  const models::Parts parts = model.parts();
  const bool comes_along = served.loaded.folder.starts_with("embedded:");
  const Json facts = recipes::information_json(known);
  return Json::Object{{"id", served.id},
                      {"source", comes_along   ? "embedded"
                                 : job.empty() ? "folder"
                                               : "job"},
                      {"folder", comes_along ? Json() : Json(served.name)},
                      {"job", job.empty() ? Json() : Json(job)},
                      {"type", known.type},
                      {"purpose", comes_along ? Json("command.model." + served.name) : Json()},
                      {"can", can_json(model)},
                      {"parameters", known.parameters},
                      {"width", model.hidden_width()},
                      {"context_length", known.context_length},
                      {"vocab_size", known.vocab_size},
                      {"source_vocab_size", known.source_vocab_size},
                      {"layers", Json::Object{{"encoder", layer_count(parts.encoder)},
                                              {"decoder", layer_count(parts.decoder)}}},
                      {"attentions", *facts.find("attentions")},
                      {"tokenizer", tokenizer_json(served.tokenizer)},
                      {"example", example_json(served)},
                      {"reference", reference}};
}

Json worked_model_json() {
  return Json::Object{{"id", kWorked},
                      {"source", "worked"},
                      {"folder", Json()},
                      {"type", recipes::models_of_task("translate").fresh_type},
                      {"purpose", Json()},
                      {"can", Json::Object{{"continues_prompt", false},
                                           {"translates", true},
                                           {"fills_masks", false},
                                           {"embeds", false},
                                           {"classifies", false},
                                           {"predicts", true}}}};
}

Json worked_json() {
  const recipes::WorkedModelOptions usual;
  Json::Array sentences;
  for (const recipes::SentencePair& pair : recipes::default_sentences()) {
    sentences.emplace_back(Json::Object{{"source", pair.source}, {"target", pair.target}});
  }
  return Json::Object{{"sentences", std::move(sentences)},
                      {"width", usual.width},
                      {"heads", usual.heads},
                      {"head_width", usual.head_width},
                      {"layers", usual.layers},
                      {"seed", usual.seed},
                      {"most", 1024}};
}

Json limits_json(Studio& studio) {
  const TraceStore::Limits& limits = studio.traces().limits();
  return Json::Object{{"traces", limits.traces},
                      {"trace_bytes", limits.bytes},
                      {"answer_bytes", kMostAnswerBytes},
                      {"tile", kMostTileSide},
                      {"edges", kMostEdges},
                      {"terms", kMostTerms},
                      {"text_bytes", kAnyText.longest}};
}

void list_models(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  QueryFields(request.query).refuse_others();
  const std::vector<JobFacts> jobs = studio.jobs().list();
  const auto job_that_wrote = [&](const std::string& id) {
    const auto found = std::ranges::find(jobs, id, &JobFacts::written);
    return found == jobs.end() ? std::string() : found->id;
  };
  Json::Array models = {worked_model_json()};
  for (const std::string& id : studio.service().models.ids()) {
    if (reply->is_gone()) return;
    try {
      const std::shared_ptr<const ServedModel> served = studio.service().models.open(id);
      models.push_back(model_json(*served, job_that_wrote(id), *studio.reference_of(served)));
    } catch (const base::Error& error) {
      // A folder that somebody has changed since; the others are there all the same.
      models.emplace_back(Json::Object{{"id", id}, {"error", error.what()}});
    }
  }
  reply->send_json(Json::Object{{"version", HEADLIGHT_VERSION},
                                {"models", std::move(models)},
                                {"worked", worked_json()},
                                {"limits", limits_json(studio)}});
}

void give_texts(Studio& /*studio*/, const Request& request, const std::shared_ptr<Reply>& reply) {
  QueryFields query(request.query);
  const narrate::Catalogue& catalogue = asked_catalogue(query);
  query.refuse_others();
  Json::Array languages;
  for (const std::string_view code : narrate::languages()) {
    languages.emplace_back(
        Json::Object{{"code", code}, {"name", narrate::Catalogue::of(code).text("language.name")}});
  }
  Json::Object texts;
  for (const auto& [key, text] : catalogue.texts()) texts.emplace_back(key, text);
  reply->send_json(Json::Object{{"language", catalogue.language()},
                                {"languages", std::move(languages)},
                                {"texts", std::move(texts)}});
}

// What a model makes of a text, and which words it does not know; while it is typed.
void tokenize_text(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  BodyFields body = BodyFields::parse(request.body);
  const std::string model = body.text("model", kSomeText).value_or(std::string(kWorked));
  const std::string text = body.text("text").value_or("");
  const bool special = body.flag("special");
  std::vector<recipes::SentencePair> sentences = read_sentences(body);
  if (model != kWorked && !sentences.empty()) {
    body.refuse("sentences", "is for the model worked alone");
  }
  body.refuse_others();
  std::optional<text::Tokenizer> tokenizer;
  if (model == kWorked) {
    if (sentences.empty()) sentences = recipes::default_sentences();
    tokenizer = about("sentences", [&] { return recipes::make_worked_model(sentences).tokenizer; });
  } else {
    tokenizer = studio.service().models.open(model)->tokenizer;
  }
  if (!tokenizer) refuse_field("model", model + " has no tokenizer; it reads ids");
  const std::vector<std::string> unknown = text::unknown_words(*tokenizer, text, special);
  const std::vector<int64_t> ids =
      about("text", [&] { return tokenizer->encode(text, {.special = special}); });
  Json::Array tokens;
  for (const int64_t id : ids) tokens.emplace_back(text::label_of(*tokenizer, id));
  const std::vector<int64_t> words = text::word_numbers(*tokenizer, ids);
  reply->send_json(Json::Object{{"ids", Json::Array(ids.begin(), ids.end())},
                                {"tokens", std::move(tokens)},
                                {"words", Json::Array(words.begin(), words.end())},
                                {"unknown", Json::Array(unknown.begin(), unknown.end())}});
}

}  // namespace

void add_model_routes(const StudioRouter& router) {
  router.add("GET", "/api/models", list_models);
  // Words of the page, which asks for the key with them.
  router.add("GET", "/api/texts", give_texts, {.needs_key = false});
  router.add("POST", "/api/tokenize", tokenize_text);
}

}  // namespace headlight::server::studio
