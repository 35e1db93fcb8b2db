// Runs with heads of other runs, in batches.
#include "headlight/heads/patching.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "headlight/heads/attention_heads.h"
#include "headlight/heads/rank_correlation.h"

namespace headlight::heads {
namespace {

using autograd::Context;
using autograd::Value;
using tensor::DType;
using tensor::Tensor;

constexpr const char* kWhat = "patch";

// Of one run; fixed, so that the work is cut the same way everywhere.
constexpr int64_t kMostTokens = 2048;
constexpr int64_t kMostVariants = 64;

// Keeps what all heads of each attention gave, (B, T, H*E), with their gradients.
class HeadOutputs : public autograd::Observer {
 public:
  bool wants(std::string_view /*place*/) override { return false; }
  void see(std::string_view /*place*/, const Tensor& /*values*/) override {}
  bool listens() const override { return true; }
  void name(std::string_view place, const Value& value) override {
    constexpr std::string_view kEnding = ".concatenated";
    if (!place.ends_with(kEnding)) return;
    place.remove_suffix(kEnding.size());
    values_[std::string(place)] = value;
  }
  const Value& at(const std::string& place) const { return values_.at(place); }

 private:
  std::map<std::string, Value> values_;
};

// A head and the positions at which it is patched.
struct Patch {
  const AttentionHeads* attention;
  int64_t head;
  int64_t first;
  int64_t count;
};

// Sequence b of a batch has patch b.
class PatchIntervention : public autograd::Intervention {
 public:
  PatchIntervention(std::span<const Patch> patches, const HeadOutputs& from)
      : patches_(patches), from_(from) {}

  bool changes(std::string_view place) override {
    return std::ranges::any_of(patches_, [&](const Patch& patch) { return is_at(patch, place); });
  }
  void change(std::string_view place, Tensor& values) override {
    const int64_t width = values.size(2);
    for (size_t b = 0; b < patches_.size(); ++b) {
      const Patch& patch = patches_[b];
      if (!is_at(patch, place)) continue;
      const int64_t head_width = patch.attention->head_width;
      const int64_t column = patch.head * head_width;
      const float* from = from_.at(patch.attention->place).data().data<float>() + column;
      float* to =
          values.mutable_data<float>() + static_cast<int64_t>(b) * values.size(1) * width + column;
      for (int64_t row = patch.first; row < patch.first + patch.count; ++row) {
        std::copy_n(from + row * width, head_width, to + row * width);
      }
    }
  }

 private:
  static bool is_at(const Patch& patch, std::string_view place) {
    return place == patch.attention->place + ".concatenated";
  }
  std::span<const Patch> patches_;
  const HeadOutputs& from_;
};

// The same sequence many times.
Tensor repeated(const Tensor& ids, int64_t count) {
  if (!ids.defined()) return ids;
  std::vector<int64_t> all;
  for (int64_t i = 0; i < count; ++i) {
    all.insert(all.end(), ids.data<int64_t>(), ids.data<int64_t>() + ids.elements());
  }
  return Tensor::of({count, ids.size(1)}, all);
}

models::Batch repeated(const models::Batch& batch, int64_t count) {
  return {.ids = repeated(batch.ids, count),
          .source_ids = repeated(batch.source_ids, count),
          .segments = repeated(batch.segments, count)};
}

class PatchExperiment {
 public:
  PatchExperiment(base::ThreadPool& threads, const models::Model& model, const LogitMetric& metric,
                  const PatchOptions& options)
      : threads_(threads),
        model_(model),
        metric_(metric),
        options_(options),
        attentions_(attention_heads(model)) {}

  std::optional<Patching> run(const models::Batch& clean, const models::Batch& corrupt) {
    const bool restores = options_.direction == PatchDirection::clean_into_corrupt;
    base_ = restores ? &corrupt : &clean;
    result_.direction = options_.direction;
    result_.clean = run_once(clean, restores ? other_outputs_ : base_outputs_);
    result_.corrupt = run_once(corrupt, restores ? base_outputs_ : other_outputs_);
    check_difference();
    base_metric_ = restores ? result_.corrupt : result_.clean;
    estimate();
    if (!run_patches()) return {};
    result_.correlation = correlation_of_places();
    return std::move(result_);
  }

 private:
  // Metrics of all sequences of a batch.
  std::vector<double> metrics(Context& context, const models::Batch& batch) const {
    const Tensor output = model_.forward(context, batch).data();
    const Tensor rows = output.slice(1, metric_.position, 1).contiguous();
    const Tensor logits = model_.logits(context, Value::leaf(rows)).data();
    std::vector<double> all;
    for (int64_t b = 0; b < rows.size(0); ++b) {
      all.push_back(metric_of(logits.data<float>() + b * logits.size(-1), metric_));
    }
    return all;
  }

  double run_once(const models::Batch& batch, HeadOutputs& outputs) const {
    tensor::Arena arena;
    Context context{.threads = threads_, .arena = arena, .observer = &outputs};
    return metrics(context, batch).front();
  }

  void check_difference() const {
    const auto text = [](double number) { return io::number_text(number); };
    if (!std::isfinite(result_.clean) || !std::isfinite(result_.corrupt)) {
      base::refuse(kWhat, "metric",
                   "is " + text(result_.clean) + " for the clean and " + text(result_.corrupt) +
                       " for the corrupted text, both must be finite");
    }
    if (result_.clean != result_.corrupt) return;
    base::refuse(kWhat, "metric",
                 "is " + text(result_.clean) +
                     " for the clean and the corrupted text: nothing is lost that a head could "
                     "restore; choose texts or words for which it differs");
  }

  double share(double metric) const {
    return (metric - result_.corrupt) / (result_.clean - result_.corrupt);
  }

  // One backward pass of the metric; then gradient times difference of every head at every
  // position, which all positions of a head add up.
  void estimate() {
    const nn::Parameters parameters = model_.parameters();
    const auto clear = [&parameters] {
      for (const nn::ParameterHandle& parameter : parameters) parameter->clear_grad();
    };
    clear();
    HeadOutputs outputs;
    tensor::Arena arena;
    autograd::Tape tape;
    Context context{.threads = threads_, .arena = arena, .tape = &tape, .observer = &outputs};
    const Value output = model_.forward(context, *base_);
    const Value logits = model_.logits(context, autograd::slice(output, 1, metric_.position, 1));
    Tensor direction = Tensor::zeros(DType::f32, logits.shape());
    direction.mutable_data<float>()[metric_.word] += 1;
    if (metric_.against) direction.mutable_data<float>()[*metric_.against] -= 1;
    tape.backward(context, logits, direction);
    clear();
    for (const AttentionHeads& attention : attentions_) {
      for (int64_t head = 0; head < attention.heads(); ++head) {
        add_estimates(attention, head, outputs.at(attention.place).grad());
      }
    }
  }

  void add_estimates(const AttentionHeads& attention, int64_t head, const Tensor& gradient) {
    const std::string& name = attention.head_names[static_cast<size_t>(head)];
    const Tensor own = base_outputs_.at(attention.place).data();
    const Tensor other = other_outputs_.at(attention.place).data();
    const Tensor adjacent = gradient.defined() ? gradient.contiguous() : gradient;
    double all = 0;
    for (int64_t row = 0; row < own.size(1); ++row) {
      double change = 0;
      const int64_t begin = row * own.size(2) + head * attention.head_width;
      for (int64_t i = begin; adjacent.defined() && i < begin + attention.head_width; ++i) {
        change += static_cast<double>(adjacent.data<float>()[i]) *
                  (static_cast<double>(other.data<float>()[i]) - own.data<float>()[i]);
      }
      all += change;
      add_place(result_.places, {.head = name, .position = row}, change);
      if (reaches(attention, row)) {
        patches_.push_back({&attention, head, row, 1});
        patched_.push_back(static_cast<int64_t>(result_.places.size()) - 1);
      }
    }
    add_place(result_.heads, {.head = name}, all);
    patches_.push_back({&attention, head, 0, own.size(1)});
    patched_.push_back(-static_cast<int64_t>(result_.heads.size()));
  }

  // As it is without the patch, until it is run.
  void add_place(std::vector<PatchedHead>& to, PatchedHead place, double change) const {
    place.metric = base_metric_;
    place.restored = share(base_metric_);
    place.estimated = share(base_metric_ + change);
    to.push_back(std::move(place));
  }

  // Rows meet in self-attention alone, which reads what the layer before gave.
  bool reaches(const AttentionHeads& attention, int64_t row) const {
    if (!attention.is_output_stack) return true;
    if (attention.is_last_layer) return row == metric_.position;
    return !attention.causal || row <= metric_.position;
  }

  bool run_patches() {
    const int64_t source = base_->source_ids.defined() ? base_->source_ids.size(1) : 0;
    const auto at_once = static_cast<size_t>(
        std::clamp<int64_t>(kMostTokens / (base_->ids.size(1) + source), 1, kMostVariants));
    const models::Batch whole = repeated(*base_, static_cast<int64_t>(at_once));
    const auto first_of = [&](int64_t run) { return static_cast<size_t>(run) * at_once; };
    const auto work = [&](int64_t run, const Watch&) {
      const size_t count = std::min(at_once, patches_.size() - first_of(run));
      const models::Batch batch =
          count == at_once ? whole : repeated(*base_, static_cast<int64_t>(count));
      PatchIntervention intervention({patches_.data() + first_of(run), count}, other_outputs_);
      tensor::Arena arena;
      Context context{.threads = threads_, .arena = arena, .intervention = &intervention};
      return metrics(context, batch);
    };
    const auto take = [&](int64_t run, const std::vector<double>& all) {
      for (size_t i = 0; i < all.size(); ++i) {
        PatchedHead& to = patched(patched_[first_of(run) + i]);
        to.metric = all[i];
        to.restored = share(all[i]);
      }
    };
    const auto runs = static_cast<int64_t>((patches_.size() + at_once - 1) / at_once);
    return run_pieces(runs, options_.watch, {work, take});
  }

  // Places count from 0, whole heads from -1 down.
  PatchedHead& patched(int64_t number) {
    return number >= 0 ? result_.places[static_cast<size_t>(number)]
                       : result_.heads[static_cast<size_t>(-number - 1)];
  }

  double correlation_of_places() const {
    std::vector<double> restored;
    std::vector<double> estimated;
    for (const PatchedHead& place : result_.places) {
      restored.push_back(place.restored);
      estimated.push_back(place.estimated);
    }
    return correlation(restored, estimated);
  }

  base::ThreadPool& threads_;
  const models::Model& model_;
  const LogitMetric& metric_;
  const PatchOptions& options_;
  std::vector<AttentionHeads> attentions_;
  const models::Batch* base_ = nullptr;  // the run that is patched
  HeadOutputs base_outputs_;
  HeadOutputs other_outputs_;
  double base_metric_ = 0;
  std::vector<Patch> patches_;    // to run
  std::vector<int64_t> patched_;  // where the result of each goes
  Patching result_;
};

void check_lengths(const char* which, const Tensor& clean, const Tensor& corrupt) {
  if (clean.defined() == corrupt.defined() &&
      (!clean.defined() || clean.size(1) == corrupt.size(1))) {
    return;
  }
  const auto count = [](const Tensor& ids) {
    return std::to_string(ids.defined() ? ids.size(1) : 0);
  };
  base::refuse(kWhat, which,
               "the clean text has " + count(clean) + " and the corrupted one " + count(corrupt) +
                   "; the same number is needed, so that each position has its counterpart");
}

io::Json::Object patched_json(const PatchedHead& patched) {
  io::Json::Object json = {{"head", patched.head}};
  if (patched.position) json.emplace_back("position", *patched.position);
  json.emplace_back("restored", patched.restored);
  json.emplace_back("estimated", patched.estimated);
  return json;
}

}  // namespace

std::string_view name_of(PatchDirection direction) {
  return direction == PatchDirection::clean_into_corrupt ? "clean_into_corrupt"
                                                         : "corrupt_into_clean";
}

std::optional<Patching> patch_heads(base::ThreadPool& threads, const models::Model& model,
                                    const models::Batch& clean, const models::Batch& corrupt,
                                    const LogitMetric& metric, const PatchOptions& options) {
  check_metric(kWhat, model, clean, metric);
  check_lengths("tokens", clean.ids, corrupt.ids);
  check_lengths("source tokens", clean.source_ids, corrupt.source_ids);
  check_metric(kWhat, model, corrupt, metric);
  return PatchExperiment(threads, model, metric, options).run(clean, corrupt);
}

io::Json::Object patching_json(const Patching& patching) {
  io::Json::Array places;
  for (const PatchedHead& place : patching.places) places.emplace_back(patched_json(place));
  io::Json::Array heads;
  for (const PatchedHead& head : patching.heads) heads.emplace_back(patched_json(head));
  return {{"clean", patching.clean},
          {"corrupt", patching.corrupt},
          {"direction", name_of(patching.direction)},
          {"correlation", patching.correlation},
          {"heads", std::move(places)},
          {"whole_heads", std::move(heads)}};
}

}  // namespace headlight::heads
