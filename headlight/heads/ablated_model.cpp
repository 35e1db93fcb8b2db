// AblatedModel: runs in which something else stands in the place of heads' outputs.
#include <algorithm>
#include <array>

#include "headlight/heads/ablation.h"
#include "headlight/heads/head_name.h"
#include "headlight/heads/head_weights.h"

namespace headlight::heads {
namespace {

using autograd::Context;
using autograd::Value;
using models::Batch;
using tensor::Tensor;

constexpr std::string_view kMergedHeads = ".concatenated";
constexpr std::string_view kHeadGates = ".head_gates";

// The outputs of all heads of a run, (B, T, H*E) by place.
class OutputKeeper : public autograd::Observer {
 public:
  bool wants(std::string_view place) override { return place.ends_with(kMergedHeads); }
  void see(std::string_view place, const Tensor& values) override {
    place.remove_suffix(kMergedHeads.size());
    outputs[std::string(place)] = values;
  }
  std::map<std::string, Tensor, std::less<>> outputs;
};

using HeadOutputs = std::map<std::string, Tensor, std::less<>>;

// A partner for each example, another one.
std::vector<int64_t> drawn_donors(int64_t examples, uint64_t seed) {
  if (examples < 2) {
    base::refuse("ablate by resample", "examples",
                 "there is 1; outputs of another one are needed to put in its place");
  }
  const base::Random random(base::mix(seed, base::name_key("donors")));
  std::vector<int64_t> donors;
  for (int64_t i = 0; i < examples; ++i) {
    const auto other = static_cast<int64_t>(
        random.below(static_cast<uint64_t>(i), static_cast<uint64_t>(examples - 1)));
    donors.push_back(other < i ? other : other + 1);
  }
  return donors;
}

}  // namespace

std::string_view name_of(AblationKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"zero", "mean", "resample"};
  return kNames[static_cast<size_t>(kind)];
}

AblationKind ablation_kind(std::string_view word) {
  constexpr std::array<std::string_view, 3> kWords = {"zero", "mean", "resample"};
  const auto found = std::ranges::find(kWords, word);
  if (found != kWords.end()) return static_cast<AblationKind>(found - kWords.begin());
  throw base::Error(base::ErrorKind::usage, "by", io::in_quotes(word),
                    "is none of zero, mean, resample" + base::nearest_hint(word, kWords));
}

struct AblatedModel::State {
  State(base::ThreadPool& pool, models::Model& whole, const Examples& all, Options chosen)
      : threads(pool), model(whole), examples(all), options(std::move(chosen)) {}

  base::ThreadPool& threads;
  models::Model& model;
  const Examples& examples;
  Options options;
  tensor::Arena arena = {};
  std::map<std::string, const nn::MultiHeadAttention*, std::less<>> attentions = {};
  std::map<std::string, std::vector<float>, std::less<>> means = {};  // (H*E) by place
  std::vector<Batch> singles = {};                                    // of resample
  std::vector<int64_t> donors = {};

  // The heads by their places among those that there are. Throws Error(bad_input) for others.
  HeadSet counted_heads(const HeadSet& heads) const {
    HeadSet counted;
    for (const auto& [place, numbers] : heads) {
      for (const int64_t number : numbers) {
        counted[place].push_back(find_head(model, {place, number}, "ablate").place);
      }
    }
    return counted;
  }

  HeadOutputs outputs_of(const Batch& batch) {
    OutputKeeper keeper;
    Context context{.threads = threads, .arena = arena, .observer = &keeper};
    model.forward(context, batch);
    return std::move(keeper.outputs);
  }

  void measure_means() {
    std::map<std::string, std::vector<double>, std::less<>> sums;
    std::map<std::string, int64_t, std::less<>> rows;
    for (const Batch& batch : examples) {
      for (const auto& [place, output] : outputs_of(batch)) {
        const auto width = static_cast<size_t>(output.size(2));
        std::vector<double>& sum = sums[place];
        sum.resize(width);
        for (int64_t b = 0; b < output.size(0); ++b) {
          const int64_t counted = counted_positions(place, batch, b).queries;
          rows[place] += counted;
          const float* from = output.data<float>() + b * output.size(1) * output.size(2);
          for (size_t i = 0; i < static_cast<size_t>(counted) * width; ++i)
            sum[i % width] += from[i];
        }
      }
    }
    for (const auto& [place, sum] : sums) {
      for (const double number : sum)
        means[place].push_back(static_cast<float>(number / static_cast<double>(rows[place])));
    }
  }

  // Of a batch, counted through all of them.
  int64_t first_example(int64_t batch) const {
    int64_t first = 0;
    for (int64_t i = 0; i < batch; ++i) first += examples[static_cast<size_t>(i)].ids.size(0);
    return first;
  }

  // The donors of a batch's examples, as a batch of their own.
  Batch donor_batch(int64_t first, int64_t count) const {
    std::vector<Batch> rows;
    for (int64_t i = first; i < first + count; ++i) {
      rows.push_back(singles[static_cast<size_t>(donors[static_cast<size_t>(i)])]);
    }
    return joined(rows);
  }
};

// Changes what the heads of a set give, in runs on one batch.
class AblatedModel::Substitute : public autograd::Intervention {
 public:
  Substitute(const State& state, const HeadSet& heads) : state_(state), heads_(heads) {}

  void set_donors(const Batch* batch, HeadOutputs outputs) {
    donor_batch_ = batch;
    donor_outputs_ = std::move(outputs);
  }

  bool changes(std::string_view place) override {
    const bool zero = state_.options.by == AblationKind::zero;
    const std::string_view ending = zero ? kHeadGates : kMergedHeads;
    if (!place.ends_with(ending)) return false;
    place.remove_suffix(ending.size());
    const auto found = heads_.find(place);
    return found != heads_.end() && !found->second.empty();
  }

  void change(std::string_view place, Tensor& values) override {
    const bool zero = state_.options.by == AblationKind::zero;
    place.remove_suffix(zero ? kHeadGates.size() : kMergedHeads.size());
    const std::vector<int64_t>& heads = heads_.find(place)->second;
    const int64_t columns = values.size(-1);
    const int64_t width = zero ? 1 : columns / head_count(*state_.attentions.find(place)->second);
    for (int64_t row = 0; row < values.elements() / columns; ++row) {
      const float* from = zero ? nullptr : source(place, row, values.size(1), columns);
      for (const int64_t head : heads) {
        float* to = values.mutable_data<float>() + row * columns + head * width;
        if (zero)
          *to = 0;
        else
          std::copy_n(from + head * width, width, to);
      }
    }
  }

 private:
  // The row that stands for row `row` of (B * T).
  const float* source(std::string_view place, int64_t row, int64_t positions,
                      int64_t columns) const {
    if (state_.options.by == AblationKind::mean) return state_.means.find(place)->second.data();
    const Tensor& donors = donor_outputs_.find(place)->second;
    const int64_t b = row / positions;
    const int64_t length = counted_positions(place, *donor_batch_, b).queries;
    const int64_t at = b * donors.size(1) + row % positions % length;
    return donors.data<float>() + at * columns;
  }

  const State& state_;
  const HeadSet& heads_;
  const Batch* donor_batch_ = nullptr;
  HeadOutputs donor_outputs_;
};

AblatedModel::AblatedModel(base::ThreadPool& threads, models::Model& model,
                           const Examples& examples, const Options& options)
    : state_(std::make_unique<State>(threads, model, examples, options)) {
  check_examples(model, examples);
  for (const nn::MultiHeadAttention* attention : model.attentions()) {
    state_->attentions[attention->options().place] = attention;
  }
  if (options.by == AblationKind::mean) state_->measure_means();
  if (options.by != AblationKind::resample) return;
  state_->donors = drawn_donors(example_count(examples), options.seed);
  for (const Batch& batch : examples) {
    for (int64_t b = 0; b < batch.ids.size(0); ++b) state_->singles.push_back(example_at(batch, b));
  }
}

AblatedModel::~AblatedModel() = default;

std::optional<Measurement> AblatedModel::evaluate(const HeadSet& named, const Watch& watch) {
  State& state = *state_;
  const HeadSet heads = state.counted_heads(named);
  std::vector<Measured> losses;
  std::vector<Measured> values;
  const auto take = [&](int64_t /*batch*/, const std::vector<double>& numbers) {
    for (size_t i = 0; i < numbers.size();) {
      losses.push_back({numbers[i], numbers[i + 1]});
      i += 2;
      if (!state.options.metric) continue;
      values.push_back({numbers[i], numbers[i + 1]});
      i += 2;
    }
  };
  const auto work = [&](int64_t batch, const Watch&) { return row_numbers(heads, batch); };
  if (!run_pieces(static_cast<int64_t>(state.examples.size()), watch, {work, take})) return {};
  Measurement measured{.loss = weighted_mean(losses, "targets")};
  if (state.options.metric) measured.metric = weighted_mean(values, state.options.metric->name);
  return measured;
}

// Value and weight of each row's loss, each followed by those of the metric where there is one.
std::vector<double> AblatedModel::row_numbers(const HeadSet& heads, int64_t number) {
  State& state = *state_;
  const Batch& batch = state.examples[static_cast<size_t>(number)];
  Substitute substitute(state, heads);
  Batch donors;
  if (state.options.by == AblationKind::resample && !heads.empty()) {
    donors = state.donor_batch(state.first_example(number), batch.ids.size(0));
    substitute.set_donors(&donors, state.outputs_of(donors));
  }
  Context context{.threads = state.threads, .arena = state.arena, .intervention = &substitute};
  const Value output = state.model.forward(context, batch);
  const std::vector<Measured> losses = loss_metric().measure(context, state.model, batch, output);
  std::vector<Measured> values;
  if (state.options.metric)
    values = state.options.metric->measure(context, state.model, batch, output);
  std::vector<double> numbers;
  for (size_t row = 0; row < losses.size(); ++row) {
    numbers.insert(numbers.end(), {losses[row].value, losses[row].weight});
    if (state.options.metric)
      numbers.insert(numbers.end(), {values[row].value, values[row].weight});
  }
  return numbers;
}

}  // namespace headlight::heads
