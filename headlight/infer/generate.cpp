// The loop of generation: choose, end what ends, read on.
#include "headlight/infer/generate.h"

#include <numeric>

#include "headlight/infer/sequences.h"
#include "headlight/infer/writing.h"

namespace headlight::infer {
namespace {

// A sequence that goes on.
struct Live {
  size_t prompt;
  Writing writing;
  size_t window_begin = 0;  // of the history, what the model reads: all, until the context slides
};

class Generation {
 public:
  Generation(Context& context, const Model& model, const std::vector<Prompt>& prompts,
             const GenerateOptions& options, const OnToken& on_token)
      : context_(context),
        model_(model),
        options_(options),
        on_token_(on_token),
        sampler_(options.sampling),
        ending_(checked_ending(model, options.ending)),
        prompts_(checked_prompts(model, prompts, options.ending.tokenizer)),
        results_(prompts.size()) {}

  std::vector<Continuation> run() {
    start();
    if (live_.empty()) return std::move(results_);
    std::optional<Sequences> sequences;
    sequences.emplace(context_, model_, windows(), options_.use_cache, options_.read_before);
    std::optional<LogitRows> rows = sequences->begin_unless(options_.is_stopped);
    results_[live_[0].prompt].reused = sequences->reused();
    while (rows) {
      choose(*rows);
      const std::vector<int64_t> on = take(*rows);
      if (on.empty()) {
        sequences->keep();
        return std::move(results_);
      }
      if (slide()) {
        // Those whose context is not full read on with the same bits.
        sequences.emplace(context_, model_, windows(), options_.use_cache);
        rows = sequences->begin_unless(options_.is_stopped);
        continue;
      }
      if (on.size() < rows_) sequences->select(on);
      rows = sequences->read(chosen_);
    }
    for (const Live& live : live_) results_[live.prompt].reason = StopReason::caller;
    return std::move(results_);
  }

 private:
  // The prompts that may get new ids.
  void start() {
    for (size_t i = 0; i < prompts_.size(); ++i) {
      const Limit limit = options_.slides ? wanted_limit(ending_, prompts_[i])
                                          : limit_of(model_, ending_, prompts_[i]);
      results_[i].reason = limit.reason;
      if (limit.count == 0) continue;
      live_.push_back({i, Writing(ending_, prompts_[i].ids, limit)});
    }
  }

  // What each sequence that goes on is to be read from.
  std::vector<Prompt> windows() const {
    std::vector<Prompt> prompts;
    for (const Live& live : live_) {
      const std::vector<int64_t>& history = live.writing.history();
      const auto begin = history.begin() + static_cast<std::ptrdiff_t>(live.window_begin);
      prompts.push_back({{begin, history.end()}, prompts_[live.prompt].source});
    }
    return prompts;
  }

  // Whether the last id of the sequence has no place in the context any more.
  bool is_full(const Live& live) const {
    const size_t count = live.writing.history().size() - live.window_begin;
    return static_cast<int64_t>(count) > model_.context_length();
  }

  // Moves the windows of full contexts; whether there were any.
  bool slide() {
    const auto half = static_cast<size_t>(std::max<int64_t>(1, model_.context_length() / 2));
    bool has_moved = false;
    for (Live& live : live_) {
      if (!is_full(live)) continue;
      live.window_begin = live.writing.history().size() - half;
      ++results_[live.prompt].slides;
      has_moved = true;
    }
    return has_moved;
  }

  // Rows are independent of each other, so that each may be on any thread.
  void choose(const LogitRows& rows) {
    rows_ = live_.size();
    chosen_.resize(rows_);
    context_.threads.parallel_for(static_cast<int64_t>(rows_), [&](int64_t index, int) {
      const auto row = static_cast<size_t>(index);
      const Live& live = live_[row];
      const Sampler::Draw draw{.sequence = options_.first_sequence + live.prompt,
                               .position = live.writing.new_count()};
      chosen_[row] = sampler_.choose(rows.logits_of(row), live.writing.history(), draw);
    });
  }

  // Adds the chosen ids; the rows that go on, of which live_ and chosen_ are left.
  std::vector<int64_t> take(const LogitRows& rows) {
    std::vector<int64_t> on;
    size_t kept = 0;
    for (size_t row = 0; row < rows_; ++row) {
      const int64_t id = chosen_[row];
      if (ends(live_[row], id, rows.log_probability(row, id))) continue;
      on.push_back(static_cast<int64_t>(row));
      // A move to itself would empty it.
      if (kept != row) live_[kept] = std::move(live_[row]);
      chosen_[kept++] = id;
    }
    if (is_cancelled_) {
      for (size_t i = 0; i < kept; ++i) results_[live_[i].prompt].reason = StopReason::caller;
      return {};
    }
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(kept), live_.end());
    chosen_.resize(kept);
    return on;
  }

  bool ends(Live& live, int64_t id, float log_probability) {
    Continuation& result = results_[live.prompt];
    if (is_cancelled_) {
      result.reason = StopReason::caller;
      return true;
    }
    Writing::Added added = live.writing.add(id);
    result.log_probabilities.push_back(log_probability);
    if (!added.is_stop) result.ids.push_back(id);
    result.text += added.text;
    is_cancelled_ =
        on_token_ && !on_token_({live.prompt, id, log_probability, added.text, added.is_stop});
    if (!added.reason && is_cancelled_) added.reason = StopReason::caller;
    if (added.reason) result.reason = *added.reason;
    return added.reason.has_value();
  }

  Context& context_;
  const Model& model_;
  const GenerateOptions& options_;
  const OnToken& on_token_;
  const Sampler sampler_;
  const Ending ending_;
  const std::vector<Prompt> prompts_;
  std::vector<Continuation> results_;
  std::vector<Live> live_;
  size_t rows_ = 0;              // of the last step
  std::vector<int64_t> chosen_;  // by each of live_
  bool is_cancelled_ = false;
};

}  // namespace

std::string_view stop_reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::limit:
      return "limit";
    case StopReason::context:
      return "context";
    case StopReason::end:
      return "end";
    case StopReason::stop_text:
      return "stop_text";
    case StopReason::caller:
      return "caller";
  }
  return "";
}

double Continuation::log_probability() const {
  return std::accumulate(log_probabilities.begin(), log_probabilities.end(), 0.0);
}

std::vector<Continuation> generate(Context& context, const Model& model,
                                   const std::vector<Prompt>& prompts,
                                   const GenerateOptions& options, const OnToken& on_token) {
  return Generation(context, model, prompts, options, on_token).run();
}

}  // namespace headlight::infer
