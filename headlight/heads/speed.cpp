// Runs that take turns, the clock beside them, and where their time goes.
#include "headlight/heads/speed.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace headlight::heads {
namespace {

using Clock = std::chrono::steady_clock;
using io::Json;
using models::Batch;
using tensor::Tensor;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// Looks at its watch whenever the run asks whether anybody wants a value: the time since the last
// question belongs to the place asked about. (Nobody ever wants one, so nothing else is computed.)
class StopwatchObserver : public autograd::Observer {
 public:
  bool wants(std::string_view place) override {
    const Clock::time_point now = Clock::now();
    // Attention asks about each head, which takes time that runs do not need otherwise.
    if (place.find(".head.") == std::string_view::npos) {
      const bool is_attention = place.find(".self.") != std::string_view::npos ||
                                place.find(".cross.") != std::string_view::npos;
      (is_attention ? parts_.attention : parts_.rest) += seconds_between(last_, now);
    }
    last_ = Clock::now();
    return false;
  }
  void see(std::string_view /*place*/, const Tensor& /*values*/) override {}

  // What is left since the last question is the rest's.
  TimedParts finish() {
    parts_.rest += seconds_between(last_, Clock::now());
    return parts_;
  }

 private:
  Clock::time_point last_ = Clock::now();
  TimedParts parts_;
};

// A model that reads batches, again and again.
class TimedModel {
 public:
  TimedModel(base::ThreadPool& threads, models::Model& model) : threads_(threads), model_(model) {}

  models::Model& model() { return model_; }

  double seconds(const Batch& batch) {
    const Clock::time_point begin = Clock::now();
    run(batch, nullptr);
    return seconds_between(begin, Clock::now());
  }

  // Of `runs` runs those of the median by their whole time.
  TimedParts parts(const Batch& batch, int64_t runs) {
    std::vector<TimedParts> all;
    for (int64_t i = 0; i < runs; ++i) {
      StopwatchObserver watch;
      run(batch, &watch);
      all.push_back(watch.finish());
    }
    std::ranges::sort(all, {}, &TimedParts::all);
    return all[all.size() / 2];
  }

 private:
  void run(const Batch& batch, autograd::Observer* observer) {
    autograd::Context context{.threads = threads_, .arena = arena_, .observer = observer};
    const autograd::Value output = model_.forward(context, batch);
    if (!model_.has_logits()) return;
    // Logits of so many rows at a time are never more than memory can hold.
    constexpr int64_t kMostLogits = int64_t{1} << 24;
    const int64_t rows = output.size(0) * output.size(1);
    const int64_t step = std::max<int64_t>(1, kMostLogits / model_.vocab_size());
    const autograd::Value flat =
        autograd::Value::leaf(output.data().contiguous().reshaped({rows, output.size(2)}));
    for (int64_t row = 0; row < rows; row += step)
      model_.logits(context, autograd::slice(flat, 0, row, std::min(step, rows - row)));
  }

  base::ThreadPool& threads_;
  models::Model& model_;
  tensor::Arena arena_;
};

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median_of(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return quantile(numbers, 0.5);
}

class SpeedExperiment {
 public:
  SpeedExperiment(base::ThreadPool& threads, models::Model& full, models::Model& pruned,
                  const SpeedOptions& options)
      : threads_(threads), full_(threads, full), pruned_(threads, pruned), options_(options) {
    if (full.capabilities().translates != pruned.capabilities().translates ||
        full.has_logits() != pruned.has_logits()) {
      base::refuse("bench", full.type(),
                   "and " + std::string(pruned.type()) + " do not do the same work");
    }
    context_ = std::min(full.context_length(), pruned.context_length());
    ids_ = std::min(full.vocab_size(), pruned.vocab_size());
    source_ids_ = std::min(full.source_vocab_size(), pruned.source_vocab_size());
  }

  SpeedResult run() {
    SpeedResult result{.threads = threads_.size()};
    const std::vector<int64_t> lengths = lengths_that_fit();
    int64_t planned = 0;
    int64_t done = 0;
    for (const int64_t tokens : lengths) {
      for (const int64_t batch : options_.batches) planned += cost_of(batch, tokens);
    }
    for (const int64_t tokens : lengths) {
      const Batch one = random_batch(1, tokens);
      const OperationCount full = count_operations(threads_, full_.model(), one);
      const OperationCount pruned = count_operations(threads_, pruned_.model(), one);
      for (const int64_t batch : options_.batches) {
        SpeedRow row{.batch = batch,
                     .tokens = tokens,
                     .bound = full.all() / pruned.all(),
                     .operations_full = times(full, batch),
                     .operations_pruned = times(pruned, batch)};
        if (!measure(row)) {
          result.interrupted = true;
          return result;
        }
        result.rows.push_back(row);
        done += cost_of(batch, tokens);
        options_.watch.tell(done, planned);
      }
    }
    return result;
  }

 private:
  static OperationCount times(const OperationCount& count, int64_t batch) {
    return {count.attention * static_cast<double>(batch), count.rest * static_cast<double>(batch)};
  }

  // Small work takes the time that is given, large work as long as it takes.
  static int64_t cost_of(int64_t batch, int64_t tokens) {
    constexpr int64_t kSmall = 4096;
    return kSmall + batch * tokens;
  }

  // The given ones, or the context itself where all are longer.
  std::vector<int64_t> lengths_that_fit() const {
    std::vector<int64_t> lengths;
    for (const int64_t tokens : options_.tokens) {
      if (tokens >= 1 && tokens <= context_) lengths.push_back(tokens);
    }
    if (lengths.empty()) lengths.push_back(context_);
    return lengths;
  }

  Tensor random_tokens(int64_t batch, int64_t tokens, int64_t ids, std::string_view name) const {
    const base::Random random(base::mix(options_.seed, base::name_key(name)));
    std::vector<int64_t> numbers(static_cast<size_t>(batch * tokens));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<int64_t>(random.below(i, static_cast<uint64_t>(ids)));
    return Tensor::of({batch, tokens}, numbers);
  }

  Batch random_batch(int64_t batch, int64_t tokens) {
    Batch made{.ids = random_tokens(batch, tokens, ids_, "ids")};
    if (full_.model().capabilities().translates)
      made.source_ids = random_tokens(batch, tokens, source_ids_, "source");
    return made;
  }

  // False: it was told to stop.
  bool measure(SpeedRow& row) {
    const Batch batch = random_batch(row.batch, row.tokens);
    full_.seconds(batch);  // packs weights and takes memory from the system
    pruned_.seconds(batch);
    std::vector<double> ratios, full, pruned;
    const Clock::time_point begin = Clock::now();
    int64_t fewest = options_.fewest;
    while (row.pairs < fewest ||
           (row.pairs < options_.most && seconds_between(begin, Clock::now()) < options_.seconds)) {
      if (options_.watch.stops()) return false;
      full.push_back(full_.seconds(batch));
      pruned.push_back(pruned_.seconds(batch));
      ratios.push_back(full.back() / pruned.back());
      ++row.pairs;
      constexpr double kLong = 5;
      constexpr int64_t kFewestLong = 3;
      if (full.back() + pruned.back() > kLong * options_.seconds)
        fewest = std::min(fewest, kFewestLong);
    }
    std::ranges::sort(ratios);
    row.measured = quantile(ratios, 0.5);
    row.low = quantile(ratios, 0.25);
    row.high = quantile(ratios, 0.75);
    row.seconds_full = median_of(full);
    row.seconds_pruned = median_of(pruned);
    const double promised = 1 - 1 / row.bound;
    row.saved = promised > 0 ? (1 - 1 / row.measured) / promised : 1;
    const int64_t watched = row.seconds_full > 1 ? 1 : std::min<int64_t>(5, row.pairs);
    row.timed_full = full_.parts(batch, watched);
    row.timed_pruned = pruned_.parts(batch, watched);
    row.reason = speed_reason(row);
    return true;
  }

  base::ThreadPool& threads_;
  TimedModel full_;
  TimedModel pruned_;
  const SpeedOptions& options_;
  int64_t context_ = 0;
  int64_t ids_ = 0;
  int64_t source_ids_ = 0;
};

}  // namespace

double SpeedRow::attention_operations_left() const {
  if (operations_full.attention == 0) return 1;
  return operations_pruned.attention / operations_full.attention;
}

double SpeedRow::attention_time_left() const {
  return timed_full.attention == 0 ? 1 : timed_pruned.attention / timed_full.attention;
}

SpeedReason speed_reason(const SpeedRow& row) {
  constexpr double kReached = 0.9;
  if (row.saved >= kReached || row.bound <= 1) return SpeedReason::reached;
  if (row.high >= row.bound) return SpeedReason::noise;
  // As fast as it is small, attention would have taken less by this share of the whole time.
  const double by_attention =
      (row.attention_time_left() - row.attention_operations_left()) * (1 - row.rest_of_time());
  const double missing = (1 - row.saved) * (1 - 1 / row.bound);
  if (by_attention > missing / 2) return SpeedReason::attention;
  return row.rest_of_time() > row.rest_of_operations() ? SpeedReason::rest : SpeedReason::noise;
}

std::string_view name_of(SpeedReason reason) {
  constexpr std::array<std::string_view, 4> kNames = {"reached", "rest", "attention", "noise"};
  return kNames[static_cast<size_t>(reason)];
}

SpeedResult compare_speed(base::ThreadPool& threads, models::Model& full, models::Model& pruned,
                          const SpeedOptions& options) {
  return SpeedExperiment(threads, full, pruned, options).run();
}

Json::Object speed_json(const SpeedResult& result) {
  Json::Array rows;
  for (const SpeedRow& row : result.rows) {
    const auto part = [&](double OperationCount::*operations, double TimedParts::*seconds) {
      return Json::Object{{"operations_full", row.operations_full.*operations},
                          {"operations_pruned", row.operations_pruned.*operations},
                          {"seconds_full", row.timed_full.*seconds},
                          {"seconds_pruned", row.timed_pruned.*seconds}};
    };
    rows.emplace_back(
        Json::Object{{"batch", row.batch},
                     {"tokens", row.tokens},
                     {"bound", row.bound},
                     {"measured", row.measured},
                     {"low", row.low},
                     {"high", row.high},
                     {"pairs", row.pairs},
                     {"seconds_full", row.seconds_full},
                     {"seconds_pruned", row.seconds_pruned},
                     {"saved", row.saved},
                     {"reason", name_of(row.reason)},
                     {"attention", part(&OperationCount::attention, &TimedParts::attention)},
                     {"rest", part(&OperationCount::rest, &TimedParts::rest)}});
  }
  return {{"rows", std::move(rows)}, {"threads", result.threads}};
}

}  // namespace headlight::heads
