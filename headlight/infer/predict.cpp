// The loop of generation for one sequence, with everything told.
#include "headlight/infer/predict.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headlight/infer/sequences.h"
#include "headlight/infer/text_stream.h"

namespace headlight::infer {
namespace {

using tensor::Tensor;

constexpr std::string_view kWeightsOf = ".weights";

// Keeps the weights of the last row of each attention that is watched.
class LastRows : public autograd::Observer {
 public:
  explicit LastRows(const std::function<bool(std::string_view)>& watches) : watches_(watches) {}

  bool wants(std::string_view place) override {
    return watches_ && place.ends_with(kWeightsOf) && place.find(".head.") == place.npos &&
           watches_(place.substr(0, place.size() - kWeightsOf.size()));
  }
  autograd::RowRange rows(std::string_view /*place*/, int64_t queries) override {
    return {queries - 1, 1};
  }
  void see(std::string_view place, const Tensor& values) override {
    // (1, H, 1, S)
    const Tensor row = values.contiguous().reshaped({values.size(1), values.size(3)});
    std::vector<float> copy(row.data<float>(), row.data<float>() + row.elements());
    seen_.emplace_back(place.substr(0, place.size() - kWeightsOf.size()),
                       Tensor::of(row.shape(), copy));
  }
  std::vector<std::pair<std::string, Tensor>> take() { return std::exchange(seen_, {}); }

 private:
  const std::function<bool(std::string_view)>& watches_;
  std::vector<std::pair<std::string, Tensor>> seen_;
};

// Ids, the likeliest first, of equals the lower one.
std::vector<int64_t> likeliest(std::span<const float> logits, int64_t most) {
  std::vector<int64_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + std::min<std::ptrdiff_t>(most, std::ssize(ids));
  std::partial_sort(ids.begin(), end, ids.end(), [&](int64_t a, int64_t b) {
    const float x = logits[static_cast<size_t>(a)];
    const float y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  ids.erase(end, ids.end());
  return ids;
}

// A sequence that is read with one context of its own.
struct Reading {
  Context context;
  Sequences sequences;
  LogitRows rows;

  Reading(const Context& like, const Model& model, const Prompt& prompt,
          autograd::Intervention* change, autograd::Observer* observer)
      : context{.threads = like.threads,
                .arena = like.arena,
                .observer = observer,
                .intervention = change},
        sequences(context, model, {prompt}, true),
        rows(sequences.begin()) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  PredictedWord word(int64_t id) const {
    return {id, rows.logits_of(0)[static_cast<size_t>(id)], std::exp(rows.log_probability(0, id))};
  }
  std::vector<int64_t> best_ids(int64_t most) const { return likeliest(rows.logits_of(0), most); }
};

class Prediction {
 public:
  Prediction(const Context& context, const Model& model, const Prompt& prompt,
             const PredictOptions& options)
      : options_(options),
        sampler_(options.sampling),
        ending_(checked_ending(model, options.ending)),
        prompt_(checked_prompts(model, {prompt}, options.ending.tokenizer).front()),
        limit_(limit_of(model, ending_, prompt_)),
        stream_(ending_, prompt_.ids),
        last_rows_(options.watches),
        history_(prompt_.ids) {
    if (limit_.count == 0) return;
    reading_.emplace(context, model, prompt_, options.change,
                     options.watches ? &last_rows_ : nullptr);
    if (options.change != nullptr) unchanged_.emplace(context, model, prompt_, nullptr, nullptr);
  }

  Continuation run(const OnStep& on_step) {
    Continuation result{.reason = limit_.reason};
    while (std::ssize(result.ids) < limit_.count) {
      const int64_t id = sampler_.choose(reading_->rows.logits_of(0), history_,
                                         {.sequence = 0, .position = result.ids.size()});
      PredictedStep step = step_of(id);
      result.log_probabilities.push_back(step.log_probability);
      step.text = step.is_stop ? stream_.finish() : stream_.add(id);
      if (!step.is_stop) result.ids.push_back(id);
      const bool is_last =
          step.is_stop || stream_.is_stopped() || std::ssize(result.ids) == limit_.count;
      if (is_last && !step.is_stop && !stream_.is_stopped()) step.text += stream_.finish();
      result.text += step.text;
      const bool goes_on = on_step(step);
      if (step.is_stop) result.reason = StopReason::end;
      if (stream_.is_stopped()) result.reason = StopReason::stop_text;
      if (is_last) break;
      if (!goes_on) {
        result.reason = StopReason::caller;
        break;
      }
      history_.push_back(id);
      reading_->rows = reading_->sequences.read({&id, 1});
      if (unchanged_) unchanged_->rows = unchanged_->sequences.read({&id, 1});
    }
    return result;
  }

 private:
  PredictedStep step_of(int64_t id) {
    PredictedStep step{.position = std::ssize(history_),
                       .chosen = reading_->word(id),
                       .log_probability = reading_->rows.log_probability(0, id),
                       .is_stop = is_stop_id(ending_, id),
                       .attention = last_rows_.take()};
    std::vector<int64_t> told = reading_->best_ids(options_.best);
    for (const int64_t one : told) step.best.push_back(reading_->word(one));
    if (unchanged_) {
      std::vector<int64_t> ids = told;
      for (const int64_t one : unchanged_->best_ids(options_.best)) {
        if (std::ranges::find(ids, one) == ids.end()) ids.push_back(one);
      }
      for (const int64_t one : ids) step.unchanged.push_back(unchanged_->word(one));
    }
    if (std::ranges::find(told, id) == told.end()) told.push_back(id);
    if (options_.stages) add_stages(told, step);
    return step;
  }

  void add_stages(const std::vector<int64_t>& ids, PredictedStep& step) const {
    using Stages = Sampler::Stages;
    const Stages stages = sampler_.stages(reading_->rows.logits_of(0), history_);
    step.top_k = stages.top_k;
    step.top_p = stages.top_p;
    step.min_p = stages.min_p;
    for (const int64_t id : ids) {
      const auto at = static_cast<size_t>(id);
      step.stages.push_back({.id = id,
                             .logit = reading_->rows.logits_of(0)[at],
                             .penalized = stages.penalized[at],
                             .tempered = stages.tempered[at],
                             .in_top_k = (stages.kept[at] & Stages::kTopK) != 0,
                             .in_top_p = (stages.kept[at] & Stages::kTopP) != 0,
                             .in_min_p = (stages.kept[at] & Stages::kMinP) != 0,
                             .drawn_with = stages.drawn_with[at]});
    }
  }

  const PredictOptions& options_;
  Sampler sampler_;
  Ending ending_;
  Prompt prompt_;
  Limit limit_;
  TextStream stream_;
  LastRows last_rows_;
  std::vector<int64_t> history_;
  std::optional<Reading> reading_;
  std::optional<Reading> unchanged_;
};

}  // namespace

Continuation predict(Context& context, const Model& model, const Prompt& prompt,
                     const PredictOptions& options, const OnStep& on_step) {
  return Prediction(context, model, prompt, options).run(on_step);
}

std::vector<PredictedWord> likeliest_words(Context& context, std::span<const float> logits,
                                           int64_t most) {
  const auto size = static_cast<int64_t>(logits.size());
  const Tensor row = Tensor::of({1, size}, std::vector<float>(logits.begin(), logits.end()));
  const Tensor logs = autograd::log_softmax(context, autograd::Value::leaf(row)).data();
  std::vector<PredictedWord> words;
  for (const int64_t id : likeliest(logits, most)) {
    const auto at = static_cast<size_t>(id);
    words.push_back({id, logits[at], std::exp(logs.data<float>()[at])});
  }
  return words;
}

}  // namespace headlight::infer
