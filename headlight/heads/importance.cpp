// One pass forwards and one backwards for each batch: gates of their own for every example keep the
// examples' gradients apart.
#include "headlight/heads/importance.h"

#include <algorithm>
#include <cmath>

#include "headlight/heads/attention_observer.h"
#include "headlight/heads/head_measure.h"
#include "headlight/heads/head_weights.h"

namespace headlight::heads {
namespace {

using autograd::Context;
using autograd::Value;
using models::Batch;
using tensor::DType;
using tensor::Tensor;

// Gates (B, H) that want gradients, for as long as it lives; the module's own numbers in them.
class ExampleGates {
 public:
  ExampleGates(models::Model& model, int64_t batch) {
    for (nn::MultiHeadAttention* attention : model.attentions()) {
      const Value before = attention->gates();
      const int64_t heads = head_count(*attention);
      Tensor gates = Tensor::uninitialized(DType::f32, {batch, heads});
      for (int64_t i = 0; i < batch * heads; ++i) {
        const int64_t same = before.defined() ? i % before.shape().elements() : 0;
        gates.mutable_data<float>()[i] = before.defined() ? before.data().data<float>()[same] : 1;
      }
      attention->set_gates(Value::leaf(gates, true));
      kept_.push_back({attention, before});
    }
  }
  ~ExampleGates() {
    for (Kept& kept : kept_) kept.attention->set_gates(std::move(kept.before));
  }
  ExampleGates(const ExampleGates&) = delete;
  ExampleGates& operator=(const ExampleGates&) = delete;

 private:
  struct Kept {
    nn::MultiHeadAttention* attention;
    Value before;
  };
  std::vector<Kept> kept_;
};

class ImportanceMeasure {
 public:
  ImportanceMeasure(base::ThreadPool& threads, models::Model& model)
      : threads_(threads), model_(model), frozen_(model.parameters()) {
    for (const nn::MultiHeadAttention* attention : model.attentions()) {
      const std::string& place = attention->options().place;
      Sums& sums = sums_[place];
      const auto heads = static_cast<size_t>(head_count(*attention));
      sums.numbers = attention->heads().numbers;
      sums.importance.resize(heads);
      sums.measures.assign(heads, HeadMeasure(!is_cross(place)));
    }
  }

  void add(const Batch& batch) {
    const ExampleGates gates(model_, batch.ids.size(0));
    AttentionObserver observer([&](const SeenAttention& attention) { add_rows(attention, batch); });
    autograd::Tape tape;
    Context context{.threads = threads_, .arena = arena_, .tape = &tape, .observer = &observer};
    const Value output = model_.forward(context, batch);
    context.observer = nullptr;
    const std::vector<bool> counts = add_losses(batch, output);
    tape.backward(context, output, d_output_);
    for (const nn::MultiHeadAttention* attention : model_.attentions()) {
      add_gradients(*attention, counts);
    }
  }

  ImportanceResult result() const {
    ImportanceResult result{.examples = examples_, .loss = weighted_mean(losses_, "targets")};
    for (const auto& [place, sums] : sums_) {
      double squares = 0;
      std::vector<HeadImportance>& heads = result.heads[place];
      for (size_t head = 0; head < sums.importance.size(); ++head) {
        HeadImportance one = sums.importance[head];
        one.gradient /= static_cast<double>(examples_);
        one.gradient_signed /= static_cast<double>(examples_);
        squares += one.gradient * one.gradient;
        sums.measures[head].write(one.statistics);
        one.statistics.place = place;
        one.statistics.head = sums.numbers[head];
        one.confidence = sums.measures[head].confidence();
        one.rows = sums.measures[head].rows();
        heads.push_back(one);
      }
      if (squares == 0) continue;
      for (HeadImportance& head : heads)
        head.gradient_normalized = head.gradient / std::sqrt(squares);
    }
    return result;
  }

 private:
  struct Sums {
    nn::HeadNumbers numbers;  // of the heads
    std::vector<HeadImportance> importance;
    std::vector<HeadMeasure> measures;
  };

  // The gradient of each example's own loss with respect to its hidden states, into d_output_; and
  // which examples have a loss. They do not share a tape: at most one example's logits are held.
  std::vector<bool> add_losses(const Batch& batch, const Value& output) {
    d_output_ = Tensor::zeros(DType::f32, output.shape());
    std::vector<bool> counts;
    for (int64_t b = 0; b < output.size(0); ++b) {
      const Batch one = example_at(batch, b);
      const int64_t length = one.ids.size(1);
      const Value hidden =
          Value::leaf(output.data().slice(0, b, 1).slice(1, 0, length).contiguous(), true);
      autograd::Tape tape;
      Context context{.threads = threads_, .arena = arena_, .tape = &tape};
      const int64_t* targets = one.targets.data<int64_t>();
      const int64_t ignored = std::count(targets, targets + length, -1);
      counts.push_back(ignored < length);
      if (ignored == length) continue;
      const Value mean = model_.loss(context, hidden, one.targets, 0);
      losses_.push_back({mean.item(), static_cast<double>(length - ignored)});
      ++examples_;
      tape.backward(context, mean);
      const Tensor gradient = hidden.grad().contiguous();
      std::copy_n(gradient.data<float>(), gradient.elements(),
                  d_output_.mutable_data<float>() + b * output.size(1) * output.size(2));
    }
    return counts;
  }

  void add_gradients(const nn::MultiHeadAttention& attention, const std::vector<bool>& counts) {
    const Tensor gradient = attention.gates().grad();
    if (!gradient.defined()) return;
    const Tensor& gates = attention.gates().data();
    std::vector<HeadImportance>& heads = sums_.at(attention.options().place).importance;
    const auto count = static_cast<int64_t>(heads.size());
    for (int64_t i = 0; i < gradient.elements(); ++i) {
      if (!counts[static_cast<size_t>(i / count)]) continue;
      const double change = static_cast<double>(gradient.data<float>()[i]) * gates.data<float>()[i];
      HeadImportance& head = heads[static_cast<size_t>(i % count)];
      head.gradient += std::abs(change);
      head.gradient_signed += change;
    }
  }

  void add_rows(const SeenAttention& attention, const Batch& batch) {
    const bool keys_are_source = reads_source(attention.place, batch) || is_cross(attention.place);
    const Tensor& ids = keys_are_source ? batch.source_ids : batch.ids;
    std::vector<HeadMeasure>& measures = sums_.at(attention.place).measures;
    threads_.parallel_for(attention.heads, [&](int64_t head, int /*worker*/) {
      const Tensor weights = attention.stage(threads_, kernels::ScoreStage::weights, head);
      const Tensor masked = attention.stage(threads_, kernels::ScoreStage::masked, head);
      const int64_t keys = weights.size(2);
      for (int64_t b = 0; b < attention.batch; ++b) {
        const CountedPositions counted = counted_positions(attention.place, batch, b);
        const std::vector<int64_t> key_counts =
            id_counts({ids.data<int64_t>() + b * keys, static_cast<size_t>(counted.keys)}, {});
        for (int64_t row = 0; row < counted.queries; ++row) {
          const int64_t at = (b * attention.queries + row) * keys;
          measures[static_cast<size_t>(head)].add_row(row, masked.data<float>() + at,
                                                      weights.data<float>() + at, key_counts);
        }
      }
    });
  }

  base::ThreadPool& threads_;
  models::Model& model_;
  nn::FrozenParameters frozen_;
  tensor::Arena arena_;
  std::map<std::string, Sums, std::less<>> sums_;
  std::vector<Measured> losses_;
  int64_t examples_ = 0;
  Tensor d_output_;
};

}  // namespace

ImportanceResult measure_importance(base::ThreadPool& threads, models::Model& model,
                                    const Examples& examples, const Watch& watch) {
  check_examples(model, examples);
  ImportanceMeasure measure(threads, model);
  for (size_t i = 0; i < examples.size(); ++i) {
    if (watch.stops()) return {.interrupted = true};
    measure.add(examples[i]);
    watch.tell(static_cast<int64_t>(i + 1), static_cast<int64_t>(examples.size()));
  }
  return measure.result();
}

}  // namespace headlight::heads
