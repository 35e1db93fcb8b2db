// Prompts, one prediction after the other, and what is asked of each.
#include "headlight/recipes/next_words.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace headlight::recipes {
namespace {

using Ids = std::vector<int64_t>;
using tensor::Tensor;

Ids ids_in(const Tensor& row) {
  if (!row.defined()) return {};
  return {row.data<int64_t>(), row.data<int64_t>() + row.elements()};
}

Tensor row_with(const Ids& ids) { return Tensor::of({1, std::ssize(ids)}, ids); }

class NextWords {
 public:
  NextWords(base::ThreadPool& threads, const models::Model& model, const text::Tokenizer* tokenizer,
            const NextWordsRequest& request)
      : threads_(threads), model_(model), tokenizer_(tokenizer), request_(request) {
    if (!model.has_logits()) base::refuse("predict", model.type(), "the model predicts no words");
    for (const heads::HeadName& head : request.heads_off) {
      heads::find_head(model, head, "heads_off");
    }
    for (const heads::HeadName& head : request.attention) {
      heads::find_head(model, head, "attention");
      watched_.insert(head.place);
    }
    if (!request.heads_off.empty()) off_.emplace(request.heads_off, model, "heads_off");
    read_prompt_ids();
  }

  NextWordsEnd run(const NextWordsListener& listener) {
    if (listener.start) listener.start(start_);
    const models::Capabilities can = model_.capabilities();
    return can.continues_prompt || can.translates ? write(listener) : fill_mask(listener);
  }

 private:
  void read_prompt_ids() {
    const PromptReader reader{model_, tokenizer_, "predict", request_.special};
    if (request_.ids || request_.source_ids) {
      start_.ids = request_.ids.value_or(Ids());
      start_.source_ids = request_.source_ids.value_or(Ids());
      if (model_.capabilities().translates) add_start();
      start_.masked_at = request_.text.at;
    } else {
      const TypedPrompt prompt = read_prompt(reader, request_.text);
      start_.ids = ids_in(prompt.batch.ids);
      start_.source_ids = ids_in(prompt.batch.source_ids);
      start_.masked_at = prompt.position;
    }
    start_.ids.insert(start_.ids.end(), request_.append_ids.begin(), request_.append_ids.end());
    for (const int64_t id : start_.ids) start_.tokens.push_back(label_of(reader, id));
    for (const int64_t id : start_.source_ids) {
      start_.source_tokens.push_back(label_of(reader, id));
    }
    const models::Capabilities can = model_.capabilities();
    if (can.translates && start_.source_ids.empty()) {
      base::refuse("predict", "source", "is missing: what the model translates");
    }
    if (can.continues_prompt || can.translates) start_.masked_at.reset();
  }

  void add_start() {
    const models::SpecialIds& special = model_.special_ids();
    const auto start = special.decoder_start ? special.decoder_start : special.begin;
    if (start) start_.ids.insert(start_.ids.begin(), *start);
  }

  bool watches(std::string_view place) const {
    return request_.all_attention || watched_.contains(place);
  }

  // The rows of the heads that are asked for, by their names.
  std::vector<HeadRow> rows_of(const infer::PredictedStep& step) const {
    std::vector<HeadRow> rows;
    for (const auto& [place, weights] : step.attention) {
      for (const heads::HeadName& head : heads::heads_of(model_)) {
        if (head.place != place) continue;
        if (!request_.all_attention && std::ranges::count(request_.attention, head) == 0) continue;
        const int64_t at = heads::find_head(model_, head, "attention").place;
        rows.push_back(
            {head.text(), weights.slice(0, at, 1).contiguous().reshaped({weights.size(1)})});
      }
    }
    return rows;
  }

  std::optional<heads::LogitLens> lens_at(const Ids& ids, int64_t position, int64_t word) {
    if (!request_.lens) return std::nullopt;
    models::Batch batch{.ids = row_with(ids)};
    if (!start_.source_ids.empty()) batch.source_ids = row_with(start_.source_ids);
    return heads::logit_lens(threads_, model_, batch, {.position = position, .word = word},
                             request_.best);
  }

  NextWordsEnd write(const NextWordsListener& listener) {
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena};
    const infer::PredictOptions options{
        .sampling = request_.sampling,
        .ending = {.max_new_tokens = request_.max_new_tokens, .tokenizer = tokenizer_},
        .best = request_.best,
        .stages = request_.stages,
        .change = off_ ? &*off_ : nullptr,
        .watches = request_.all_attention || !watched_.empty()
                       ? std::function<bool(std::string_view)>(
                             [this](std::string_view place) { return watches(place); })
                       : std::function<bool(std::string_view)>()};
    Ids read = start_.ids;
    const auto tell = [&](const infer::PredictedStep& step) {
      NextWord word{.step = step,
                    .attention = rows_of(step),
                    .lens = lens_at(read, std::ssize(read) - 1, step.chosen.id)};
      read.push_back(step.chosen.id);
      return !listener.word || listener.word(word);
    };
    return {.continuation =
                infer::predict(context, model_, {start_.ids, start_.source_ids}, options, tell)};
  }

  NextWordsEnd fill_mask(const NextWordsListener& listener) {
    if (start_.ids.empty()) base::refuse("predict", "prompt", "is empty: there are no tokens");
    const int64_t position = start_.masked_at.value_or(std::ssize(start_.ids) - 1);
    const models::Batch batch{.ids = row_with(start_.ids)};
    heads::check_metric("predict", model_, batch, {.position = position, .word = 0});
    NextWord word;
    word.step.position = position;
    word.step.best = words_at(batch, position, off_ ? &*off_ : nullptr, request_.best);
    word.step.chosen = word.step.best.front();
    word.step.log_probability = std::log(word.step.chosen.probability);
    if (tokenizer_ != nullptr && word.step.chosen.id < tokenizer_->size()) {
      word.step.text = tokenizer_->decode(Ids{word.step.chosen.id});
    }
    if (off_) word.step.unchanged = unchanged_words(batch, position, word.step.best);
    word.lens = lens_at(start_.ids, position, word.step.chosen.id);
    if (listener.word) listener.word(word);
    NextWordsEnd end{.is_mask = true};
    end.continuation.ids = {word.step.chosen.id};
    end.continuation.text = word.step.text;
    end.continuation.log_probabilities = {word.step.log_probability};
    return end;
  }

  // The same words with all heads on, and those that are likeliest then.
  std::vector<infer::PredictedWord> unchanged_words(
      const models::Batch& batch, int64_t position,
      const std::vector<infer::PredictedWord>& changed) {
    const std::vector<infer::PredictedWord> all =
        words_at(batch, position, nullptr, model_.vocab_size());
    std::vector<infer::PredictedWord> words;
    for (const infer::PredictedWord& one : changed) {
      words.push_back(*std::ranges::find(all, one.id, &infer::PredictedWord::id));
    }
    for (size_t i = 0; i < changed.size(); ++i) {
      const auto known = std::ranges::find(words, all[i].id, &infer::PredictedWord::id);
      if (known == words.end()) words.push_back(all[i]);
    }
    return words;
  }

  std::vector<infer::PredictedWord> words_at(const models::Batch& batch, int64_t position,
                                             autograd::Intervention* change, int64_t most) {
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena, .intervention = change};
    const autograd::Value output = model_.forward(context, batch);
    const Tensor row = output.data().slice(1, position, 1).contiguous();
    const Tensor logits = model_.logits(context, autograd::Value::leaf(row)).data().contiguous();
    return infer::likeliest_words(
        context, {logits.data<float>(), static_cast<size_t>(logits.elements())}, most);
  }

  base::ThreadPool& threads_;
  const models::Model& model_;
  const text::Tokenizer* tokenizer_;
  const NextWordsRequest& request_;
  std::optional<heads::HeadsOff> off_;
  std::set<std::string, std::less<>> watched_;  // places
  NextWordsStart start_;
};

io::Json words_json(const std::vector<infer::PredictedWord>& words,
                    const std::function<std::string(int64_t)>& label) {
  io::Json::Array list;
  for (const infer::PredictedWord& word : words) {
    list.emplace_back(io::Json::Object{{"id", word.id},
                                       {"token", label(word.id)},
                                       {"logit", static_cast<double>(word.logit)},
                                       {"probability", static_cast<double>(word.probability)}});
  }
  return list;
}

io::Json stages_json(const infer::PredictedStep& step,
                     const std::function<std::string(int64_t)>& label) {
  io::Json::Array list;
  for (const infer::StagedWord& word : step.stages) {
    list.emplace_back(io::Json::Object{{"id", word.id},
                                       {"token", label(word.id)},
                                       {"logit", static_cast<double>(word.logit)},
                                       {"penalized", static_cast<double>(word.penalized)},
                                       {"tempered", static_cast<double>(word.tempered)},
                                       {"top_k", word.in_top_k},
                                       {"top_p", word.in_top_p},
                                       {"min_p", word.in_min_p},
                                       {"drawn_with", word.drawn_with}});
  }
  return list;
}

io::Json::Array strings_of(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

}  // namespace

NextWordsEnd next_words(base::ThreadPool& threads, const models::Model& model,
                        const text::Tokenizer* tokenizer, const NextWordsRequest& request,
                        const NextWordsListener& listener) {
  return NextWords(threads, model, tokenizer, request).run(listener);
}

io::Json::Object next_words_json(const NextWordsStart& start) {
  io::Json::Object json = {
      {"prompt_ids", io::Json::Array(start.ids.begin(), start.ids.end())},
      {"prompt_tokens", strings_of(start.tokens)},
      {"source_ids", io::Json::Array(start.source_ids.begin(), start.source_ids.end())},
      {"source_tokens", strings_of(start.source_tokens)}};
  if (start.masked_at) json.emplace_back("masked_at", *start.masked_at);
  return json;
}

io::Json::Object next_word_json(const NextWord& word, const NextWordsRequest& request,
                                const std::function<std::string(int64_t)>& label,
                                const std::function<io::Json(const Tensor&)>& letters) {
  const infer::PredictedStep& step = word.step;
  io::Json::Object json = {{"position", step.position},
                           {"id", step.chosen.id},
                           {"token", label(step.chosen.id)},
                           {"text", step.text},
                           {"probability", static_cast<double>(step.chosen.probability)},
                           {"log_probability", static_cast<double>(step.log_probability)},
                           {"is_stop", step.is_stop},
                           {"best", words_json(step.best, label)}};
  if (!request.heads_off.empty()) {
    json.emplace_back("with_all_heads", words_json(step.unchanged, label));
  }
  if (request.stages && !step.stages.empty()) {
    json.emplace_back("stages", stages_json(step, label));
    json.emplace_back(
        "kept",
        io::Json::Object{{"top_k", step.top_k}, {"top_p", step.top_p}, {"min_p", step.min_p}});
  }
  if (word.lens) json.emplace_back("lens", heads::logit_lens_json(*word.lens, label));
  if (!request.all_attention && request.attention.empty()) return json;
  io::Json::Array rows;
  for (const HeadRow& row : word.attention) {
    rows.emplace_back(io::Json::Object{
        {"head", row.head}, {"keys", row.weights.elements()}, {"weights", letters(row.weights)}});
  }
  json.emplace_back("attention", std::move(rows));
  return json;
}

io::Json::Object next_words_json(const NextWordsEnd& end) {
  const infer::Continuation& written = end.continuation;
  return {{"ids", io::Json::Array(written.ids.begin(), written.ids.end())},
          {"text", written.text},
          {"log_probability", written.log_probability()},
          {"stopped",
           end.is_mask ? std::string_view("mask") : infer::stop_reason_name(written.reason)}};
}

}  // namespace headlight::recipes
