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

// What a batch says of its examples: their losses, and of each head how fast they change with it
// and where it looks. All of it is kept by example, and examples are summed in their order.
struct BatchImportance {
  struct Heads {
    std::vector<std::vector<double>> changes;        // by example, then by head; or none
    std::vector<std::vector<HeadMeasure>> measures;  // the same
  };
  std::vector<Measured> losses;  // of weight 0 where an example has none
  std::map<std::string, Heads, std::less<>> places;
};

// One run forwards and backwards.
class ImportanceRun {
 public:
  ImportanceRun(base::ThreadPool& threads, tensor::Arena& arena, models::Model& model,
                const Batch& batch)
      : threads_(threads), arena_(arena), model_(model), batch_(batch) {}

  BatchImportance run() {
    const ExampleGates gates(model_, batch_.ids.size(0));
    for (const nn::MultiHeadAttention* attention : model_.attentions()) {
      const std::string& place = attention->options().place;
      result_.places[place].measures.assign(
          static_cast<size_t>(batch_.ids.size(0)),
          std::vector<HeadMeasure>(static_cast<size_t>(head_count(*attention)),
                                   HeadMeasure(!is_cross(place))));
    }
    AttentionObserver observer([&](const SeenAttention& attention) { add_rows(attention); });
    autograd::Tape tape;
    Context context{.threads = threads_, .arena = arena_, .tape = &tape, .observer = &observer};
    const Value output = model_.forward(context, batch_);
    context.observer = nullptr;
    const Tensor d_output = add_losses(output);
    tape.backward(context, output, d_output);
    for (const nn::MultiHeadAttention* attention : model_.attentions()) add_changes(*attention);
    return std::move(result_);
  }

 private:
  // The gradient of each example's own loss with respect to its hidden states. They do not share a
  // tape: at most one example's logits are held.
  Tensor add_losses(const Value& output) {
    Tensor d_output = Tensor::zeros(DType::f32, output.shape());
    for (int64_t b = 0; b < output.size(0); ++b) {
      const Batch one = example_at(batch_, b);
      const int64_t length = one.ids.size(1);
      const Value hidden =
          Value::leaf(output.data().slice(0, b, 1).slice(1, 0, length).contiguous(), true);
      autograd::Tape tape;
      Context context{.threads = threads_, .arena = arena_, .tape = &tape};
      const int64_t* targets = one.targets.data<int64_t>();
      const int64_t ignored = std::count(targets, targets + length, -1);
      result_.losses.emplace_back();
      if (ignored == length) continue;
      const Value mean = model_.loss(context, hidden, one.targets, 0);
      result_.losses.back() = {mean.item(), static_cast<double>(length - ignored)};
      tape.backward(context, mean);
      const Tensor gradient = hidden.grad().contiguous();
      std::copy_n(gradient.data<float>(), gradient.elements(),
                  d_output.mutable_data<float>() + b * output.size(1) * output.size(2));
    }
    return d_output;
  }

  void add_changes(const nn::MultiHeadAttention& attention) {
    const Tensor gradient = attention.gates().grad();
    if (!gradient.defined()) return;
    const Tensor& gates = attention.gates().data();
    auto& changes = result_.places.at(attention.options().place).changes;
    changes.resize(static_cast<size_t>(gradient.size(0)));
    for (int64_t i = 0; i < gradient.elements(); ++i) {
      changes[static_cast<size_t>(i / gradient.size(1))].push_back(
          static_cast<double>(gradient.data<float>()[i]) * gates.data<float>()[i]);
    }
  }

  void add_rows(const SeenAttention& attention) {
    const bool keys_are_source = reads_source(attention.place, batch_) || is_cross(attention.place);
    const Tensor& ids = keys_are_source ? batch_.source_ids : batch_.ids;
    auto& measures = result_.places.at(attention.place).measures;
    threads_.parallel_for(attention.heads, [&](int64_t head, int /*worker*/) {
      const Tensor weights = attention.stage(threads_, kernels::ScoreStage::weights, head);
      const Tensor masked = attention.stage(threads_, kernels::ScoreStage::masked, head);
      const int64_t keys = weights.size(2);
      for (int64_t b = 0; b < attention.batch; ++b) {
        HeadMeasure& measure = measures[static_cast<size_t>(b)][static_cast<size_t>(head)];
        const CountedPositions counted = counted_positions(attention.place, batch_, b);
        const std::vector<int64_t> key_counts =
            id_counts({ids.data<int64_t>() + b * keys, static_cast<size_t>(counted.keys)}, {});
        for (int64_t row = 0; row < counted.queries; ++row) {
          const int64_t at = (b * attention.queries + row) * keys;
          measure.add_row(row, masked.data<float>() + at, weights.data<float>() + at, key_counts);
        }
      }
    });
  }

  base::ThreadPool& threads_;
  tensor::Arena& arena_;
  models::Model& model_;
  const Batch& batch_;
  BatchImportance result_;
};

std::vector<double> numbers_of(const BatchImportance& batch) {
  std::vector<double> numbers;
  for (const Measured& loss : batch.losses)
    numbers.insert(numbers.end(), {loss.value, loss.weight});
  for (const auto& [place, heads] : batch.places) {
    numbers.push_back(heads.changes.empty() ? 0 : 1);
    for (const std::vector<double>& changes : heads.changes)
      numbers.insert(numbers.end(), changes.begin(), changes.end());
    for (const std::vector<HeadMeasure>& measures : heads.measures) {
      for (const HeadMeasure& measure : measures) measure.append_to(numbers);
    }
  }
  return numbers;
}

// Sums over all examples.
class ImportanceSums {
 public:
  explicit ImportanceSums(models::Model& model) {
    for (const nn::MultiHeadAttention* attention : model.attentions()) {
      const std::string& place = attention->options().place;
      Sums& sums = sums_[place];
      const auto heads = static_cast<size_t>(head_count(*attention));
      sums.numbers = attention->heads().numbers;
      sums.is_self = !is_cross(place);
      sums.importance.resize(heads);
      sums.measures.assign(heads, HeadMeasure(sums.is_self));
    }
  }

  // What numbers_of() has made of a batch of so many examples.
  void add(const std::vector<double>& numbers, int64_t examples) {
    size_t at = 0;
    std::vector<bool> counts;
    for (int64_t b = 0; b < examples; ++b, at += 2) {
      counts.push_back(numbers[at + 1] > 0);
      if (!counts.back()) continue;
      losses_.push_back({numbers[at], numbers[at + 1]});
      ++examples_;
    }
    for (auto& [place, sums] : sums_) {
      if (numbers[at++] != 0) add_changes(numbers, at, counts, sums);
      for (int64_t b = 0; b < examples; ++b) {
        for (HeadMeasure& all : sums.measures) {
          HeadMeasure one(sums.is_self);
          one.read_from(numbers, at);
          all.add(one);
        }
      }
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
    bool is_self = true;
    std::vector<HeadImportance> importance;
    std::vector<HeadMeasure> measures;
  };

  static void add_changes(const std::vector<double>& numbers, size_t& at,
                          const std::vector<bool>& counts, Sums& to) {
    for (const bool has_loss : counts) {
      for (HeadImportance& head : to.importance) {
        const double change = numbers[at++];
        if (!has_loss) continue;
        head.gradient += std::abs(change);
        head.gradient_signed += change;
      }
    }
  }

  std::map<std::string, Sums, std::less<>> sums_;
  std::vector<Measured> losses_;
  int64_t examples_ = 0;
};

}  // namespace

ImportanceResult measure_importance(base::ThreadPool& threads, models::Model& model,
                                    const Examples& examples, const Watch& watch) {
  check_examples(model, examples);
  const nn::FrozenParameters frozen(model.parameters());
  tensor::Arena arena;
  ImportanceSums sums(model);
  const auto batch_at = [&](int64_t index) -> const Batch& {
    return examples[static_cast<size_t>(index)];
  };
  const auto work = [&](int64_t index, const Watch&) {
    return numbers_of(ImportanceRun(threads, arena, model, batch_at(index)).run());
  };
  const auto take = [&](int64_t index, const std::vector<double>& numbers) {
    sums.add(numbers, batch_at(index).ids.size(0));
  };
  if (!run_pieces(static_cast<int64_t>(examples.size()), watch, {work, take}))
    return {.interrupted = true};
  return sums.result();
}

}  // namespace headlight::heads
