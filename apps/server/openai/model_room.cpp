// What a model can be asked, and its inputs as ids.
#include "apps/server/openai/model_room.h"

#include "apps/server/openai/body_fields.h"

namespace headlight::server::openai {
namespace {

recipes::SentenceSettings sentence_settings_of(Service& service, const ServedModel& served) {
  if (!served.model().capabilities().embeds) return {};
  return recipes::sentence_settings(service.files, served.loaded);
}

[[noreturn]] void refuse_model(const ModelRoom& room, const std::string& why) {
  refuse_value("model", room.id() + " is a " + std::string(room.model().type()) + ", " + why,
               "unsupported_model");
}

std::string types_that(bool models::Capabilities::*ability) {
  return models::known_architectures().types_that({ability});
}

// Ids with commas between them, of a model without a tokenizer.
Ids typed_ids(const std::string& param, const std::string& text) {
  Ids ids;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const auto id = io::parse_number<int64_t>(word);
    if (!id || *id < 0) {
      refuse_value(
          param,
          io::in_quotes(word) + " is no id: the model has no tokenizer and takes ids, as 3,1,2",
          "invalid_value");
    }
    ids.push_back(*id);
    begin = end + 1;
  }
  return ids;
}

}  // namespace

ModelRoom::ModelRoom(std::shared_ptr<const ServedModel> served, Service& service)
    : served_(std::move(served)),
      sources_(service.files, served_->loaded.folder),
      sentences_(sentence_settings_of(service, *served_)),
      thread_(served_->model(), service.threads, service.metrics, served_->id) {
  try {
    const std::string& folder = served_->loaded.folder;
    if (translates()) {
      models::check_generation_settings(service.files, folder);
    } else {
      writing_ = models::read_generation_settings(service.files, folder);
    }
  } catch (const base::Error&) {
    writing_problem_ = std::current_exception();
  }
}

TokenTexts ModelRoom::texts() const {
  return TokenTexts(served_->tokenizer ? &*served_->tokenizer : nullptr);
}

void ModelRoom::check_writes() const {
  const models::Capabilities can = model().capabilities();
  if (!can.continues_prompt && !can.translates) {
    refuse_model(*this, "which writes no text; models that do are " +
                            types_that(&models::Capabilities::continues_prompt) + " and " +
                            types_that(&models::Capabilities::translates) +
                            (can.embeds ? "; /v1/embeddings takes this one" : ""));
  }
  if (writing_problem_) std::rethrow_exception(writing_problem_);
}

void ModelRoom::check_embeds(const std::optional<int64_t>& dimensions) const {
  if (!model().capabilities().embeds) {
    refuse_model(*this, "which gives no sentence vectors; models that do are " +
                            types_that(&models::Capabilities::embeds));
  }
  if (dimensions && *dimensions != model().hidden_width()) {
    refuse_value("dimensions",
                 "is " + std::to_string(*dimensions) + ", vectors of " + id() + " have " +
                     std::to_string(model().hidden_width()) + " numbers and are not shortened",
                 "unsupported_value");
  }
}

void ModelRoom::check_ids(const std::string& param, const std::vector<int64_t>& ids,
                          int64_t known) const {
  const auto count = static_cast<int64_t>(ids.size());
  if (count > model().context_length()) {
    refuse_value(param,
                 "has " + std::to_string(count) + " tokens, the model's context is " +
                     std::to_string(model().context_length()) + " tokens; leave out " +
                     std::to_string(count - model().context_length()),
                 "context_length_exceeded");
  }
  for (const int64_t id : ids) {
    if (id >= 0 && id < known) continue;
    refuse_value(param,
                 "id " + std::to_string(id) + " is none of the model's, which are 0 to " +
                     std::to_string(known - 1),
                 "invalid_value");
  }
}

std::vector<int64_t> ModelRoom::encoded(const std::string& param, const std::string& text) const {
  if (!served_->tokenizer) return typed_ids(param, text);
  try {
    const text::Tokenizer& tokenizer = *served_->tokenizer;
    return translates() ? data::source_ids(tokenizer, text) : tokenizer.encode_prompt(text);
  } catch (const base::Error& error) {
    refuse_value(param, error.what(), "invalid_value");
  }
}

infer::Prompt ModelRoom::prompt_of(const std::string& param, const Input& input) const {
  const std::string* text = std::get_if<std::string>(&input);
  std::vector<int64_t> ids = text != nullptr ? encoded(param, *text) : std::get<Ids>(input);
  if (!translates()) {
    check_ids(param, ids, model().vocab_size());
    return {.ids = std::move(ids)};
  }
  check_ids(param, ids, model().source_vocab_size());
  if (ids.empty()) refuse_value(param, "is empty: there is nothing to translate", "invalid_value");
  if (served_->tokenizer) {
    try {
      sources_.check("translate", param, texts().joined(ids));
    } catch (const base::Error& error) {
      refuse_value(param, error.what(), "invalid_value");
    }
  }
  return {.source = std::move(ids)};
}

std::vector<int64_t> ModelRoom::sentence_of(const std::string& param, const Input& input) const {
  std::vector<int64_t> ids;
  if (const std::string* text = std::get_if<std::string>(&input)) {
    if (text->empty()) refuse_value(param, "is empty", "invalid_value");
    if (served_->tokenizer) {
      try {
        ids = served_->tokenizer->encode(
            sentences_.prepared(*text),
            {.framed = true, .sizing = text::Sizing::cut, .longest = sentences_.longest});
      } catch (const base::Error& error) {
        refuse_value(param, error.what(), "invalid_value");
      }
    } else {
      ids = typed_ids(param, *text);
    }
  } else {
    ids = std::get<Ids>(input);
  }
  if (ids.empty()) refuse_value(param, "has no tokens", "invalid_value");
  check_ids(param, ids, model().vocab_size());
  return ids;
}

ModelEntry model_entry(const ServedModel& served, int64_t created) {
  const models::Model& model = served.model();
  const models::Capabilities can = model.capabilities();
  ModelEntry entry{.id = served.id,
                   .created = created,
                   .type = std::string(model.type()),
                   .context_length = model.context_length()};
  if (can.continues_prompt || can.translates) {
    entry.endpoints = {"/v1/completions", "/v1/chat/completions"};
    const bool has_own = served.chat_template || served.template_problem;
    entry.chat_template = has_own && !can.translates ? kOwnTemplate : kPlainTemplate;
  }
  if (can.embeds) entry.endpoints.emplace_back("/v1/embeddings");
  return entry;
}

std::shared_ptr<ModelRoom> ModelRooms::open(const std::string& id) {
  std::shared_ptr<const ServedModel> served = service_.models.open(id);
  const std::lock_guard lock(mutex_);
  if (is_stopped_) refuse_busy("the server is being stopped");
  std::shared_ptr<ModelRoom>& room = rooms_[id];
  if (room == nullptr) room = std::make_shared<ModelRoom>(std::move(served), service_);
  return room;
}

bool ModelRooms::stop(std::chrono::steady_clock::time_point until) {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  for (const auto& [id, room] : rooms_) room->thread().stop();
  bool have_ended = true;
  for (const auto& [id, room] : rooms_) have_ended = room->thread().wait(until) && have_ended;
  return have_ended;
}

}  // namespace headlight::server::openai
