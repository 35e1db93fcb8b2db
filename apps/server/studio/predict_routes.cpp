// POST /api/predict: what comes next, at once or word by word.
#include "apps/server/studio/predict_order.h"
#include "apps/server/studio/studio.h"

namespace headlight::server::studio {
namespace {

using io::Json;

// The model that is asked, kept for as long as that takes.
struct AskedModel {
  std::string id;
  std::shared_ptr<const ServedModel> served = {};
  std::shared_ptr<KeptTrace> trace = {};
  std::shared_lock<std::shared_mutex> lock = {};
  const models::Model* model = nullptr;
  const text::Tokenizer* tokenizer = nullptr;
};

AskedModel asked_model(Studio& studio, const PredictOrder& order) {
  AskedModel asked;
  if (order.model) {
    asked.served = studio.service().models.open(*order.model);
    asked.id = *order.model;
    asked.model = &asked.served->model();
    asked.tokenizer = asked.served->tokenizer ? &*asked.served->tokenizer : nullptr;
    return asked;
  }
  asked.trace = studio.traces().find(*order.trace);
  asked.lock = std::shared_lock(asked.trace->model_mutex);
  const narrate::Subject& subject = asked.trace->document->subject(asked.trace->run_at(order.run));
  asked.id = asked.trace->model;
  asked.model = &subject.model();
  asked.tokenizer = subject.tokenizer();
  return asked;
}

// Which field an error is about, by its words.
std::string_view field_named_in(const base::Error& error) {
  const std::string_view message = error.what();
  for (const std::string_view field :
       {"heads_off", "attention", "source_ids", "source", "prompt"}) {
    if (message.find(field) != message.npos) return field;
  }
  return "";
}

class Predicting {
 public:
  Predicting(const PredictOrder& order, const AskedModel& asked, std::shared_ptr<Reply> reply)
      : order_(order), asked_(asked), reply_(std::move(reply)) {}

  void run(base::ThreadPool& threads) {
    const recipes::NextWordsListener listener{
        .start = [this](const recipes::NextWordsStart& start) { begin(start); },
        .word = [this](const recipes::NextWord& word) { return tell(word); }};
    try {
      end(recipes::next_words(threads, *asked_.model, asked_.tokenizer, order_.request, listener));
    } catch (const base::Error& error) {
      fail(fields_of(error, field_named_in(error)));
    }
  }

 private:
  std::string label(int64_t id) const {
    return asked_.tokenizer == nullptr ? std::to_string(id) : text::label_of(*asked_.tokenizer, id);
  }

  void begin(const recipes::NextWordsStart& start) {
    answer_ = {{"model", asked_.id}};
    for (Json::Member& member : recipes::next_words_json(start)) {
      answer_.push_back(std::move(member));
    }
    if (!order_.stream) return;
    reply_->begin(200, "text/event-stream");
    has_begun_ = true;
    reply_->write_or_drop(event_text(io::json_text(answer_), "start"));
  }

  bool tell(const recipes::NextWord& word) {
    Json::Object told = recipes::next_word_json(
        word, order_.request, [this](int64_t id) { return label(id); }, narrate::letters_json);
    if (order_.stream) return reply_->write_or_drop(event_text(io::json_text(told), "token"));
    tokens_.emplace_back(std::move(told));
    return !reply_->is_gone();
  }

  void end(const recipes::NextWordsEnd& result) {
    Json::Object told = recipes::next_words_json(result);
    if (order_.stream) {
      reply_->write_or_drop(event_text(io::json_text(told), "done"));
      reply_->end();
      return;
    }
    answer_.emplace_back("tokens", std::move(tokens_));
    for (Json::Member& member : told) answer_.push_back(std::move(member));
    reply_->send_json(std::move(answer_));
  }

  void fail(const HttpErrorFields& fields) {
    if (!has_begun_) throw HttpError(fields);
    reply_->write_or_drop(event_text(error_json(fields), "error"));
    reply_->end();
  }

  const PredictOrder& order_;
  const AskedModel& asked_;
  std::shared_ptr<Reply> reply_;
  Json::Object answer_;
  Json::Array tokens_;
  bool has_begun_ = false;
};

void predict_words(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  const PredictOrder order = read_predict_order(request.body);
  const AskedModel asked = asked_model(studio, order);
  Predicting(order, asked, reply).run(studio.threads());
}

}  // namespace

void add_predict_routes(const StudioRouter& router) {
  router.add("POST", "/api/predict", predict_words);
}

}  // namespace headlight::server::studio
