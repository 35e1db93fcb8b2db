// Rows of batches, with and without their padding; loss and exact match of each.
#include "headlight/heads/examples.h"

#include <algorithm>

namespace headlight::heads {
namespace {

using autograd::Context;
using autograd::Value;
using models::Batch;
using tensor::DType;
using tensor::Tensor;

int64_t length_of(const Tensor& ids, const Tensor& lens, int64_t row) {
  return lens.defined() ? lens.data<int64_t>()[row] : ids.size(1);
}

Tensor cut(const Tensor& numbers, int64_t row, int64_t length) {
  if (!numbers.defined()) return {};
  return numbers.slice(0, row, 1).slice(1, 0, length).contiguous();
}

// Rows (1, T) of different T one below the other.
Tensor padded_rows(const std::vector<Batch>& rows, Tensor Batch::*member, int64_t padding) {
  if (!(rows.front().*member).defined()) return {};
  int64_t longest = 0;
  for (const Batch& row : rows) longest = std::max(longest, (row.*member).size(1));
  const auto count = static_cast<int64_t>(rows.size());
  std::vector<int64_t> numbers(static_cast<size_t>(count * longest), padding);
  for (int64_t b = 0; b < count; ++b) {
    const Tensor& from = rows[static_cast<size_t>(b)].*member;
    std::copy_n(from.data<int64_t>(), from.size(1), numbers.begin() + b * longest);
  }
  return Tensor::of({count, longest}, numbers);
}

Tensor lengths(const std::vector<Batch>& rows, Tensor Batch::*member) {
  if (!(rows.front().*member).defined()) return {};
  std::vector<int64_t> numbers;
  for (const Batch& row : rows) numbers.push_back((row.*member).size(1));
  return Tensor::of({static_cast<int64_t>(rows.size())}, numbers);
}

int64_t counted_targets(const Tensor& targets) {
  const int64_t* begin = targets.data<int64_t>();
  return targets.elements() - std::count(begin, begin + targets.elements(), -1);
}

// The targets of a row and the hidden states that they are predicted from.
struct PredictedRow {
  Tensor targets;  // (1, T)
  Value output;    // (1, T, C)
};

PredictedRow predicted_row(const Batch& batch, const Value& output, int64_t row) {
  const int64_t length = length_of(batch.ids, batch.lens, row);
  return {cut(batch.targets, row, length),
          autograd::slice(autograd::slice(output, 0, row, 1), 1, 0, length)};
}

template <class Measure>
std::vector<Measured> for_each_row(const Batch& batch, const Value& output,
                                   const Measure& measure) {
  std::vector<Measured> values;
  for (int64_t row = 0; row < output.size(0); ++row) {
    const PredictedRow predicted = predicted_row(batch, output, row);
    const int64_t targets = counted_targets(predicted.targets);
    values.push_back(targets == 0 ? Measured{} : measure(predicted, targets));
  }
  return values;
}

bool all_likeliest(const Tensor& logits, const Tensor& targets) {
  const int64_t ids = logits.size(-1);
  for (int64_t t = 0; t < targets.elements(); ++t) {
    const int64_t target = targets.data<int64_t>()[t];
    if (target == -1) continue;
    const float* row = logits.data<float>() + t * ids;
    if (std::max_element(row, row + ids) - row != target) return false;
  }
  return true;
}

}  // namespace

int64_t example_count(const Examples& examples) {
  int64_t count = 0;
  for (const Batch& batch : examples) count += batch.ids.size(0);
  return count;
}

Batch example_at(const Batch& batch, int64_t row) {
  const int64_t length = length_of(batch.ids, batch.lens, row);
  Batch one{.ids = cut(batch.ids, row, length),
            .segments = cut(batch.segments, row, length),
            .targets = cut(batch.targets, row, length)};
  if (batch.source_ids.defined()) {
    one.source_ids =
        cut(batch.source_ids, row, length_of(batch.source_ids, batch.source_lens, row));
  }
  return one;
}

Batch joined(const std::vector<Batch>& rows) {
  return {.ids = padded_rows(rows, &Batch::ids, 0),
          .lens = lengths(rows, &Batch::ids),
          .source_ids = padded_rows(rows, &Batch::source_ids, 0),
          .source_lens = lengths(rows, &Batch::source_ids),
          .segments = padded_rows(rows, &Batch::segments, 0),
          .targets = padded_rows(rows, &Batch::targets, -1)};
}

Examples batched(const std::vector<Batch>& rows, int64_t most_tokens) {
  Examples batches;
  std::vector<Batch> next;
  int64_t longest = 0;
  const auto finish = [&] {
    if (!next.empty()) batches.push_back(joined(next));
    next.clear();
    longest = 0;
  };
  for (const Batch& row : rows) {
    const int64_t length =
        std::max(row.ids.size(1), row.source_ids.defined() ? row.source_ids.size(1) : 0);
    if (std::max(longest, length) * static_cast<int64_t>(next.size() + 1) > most_tokens) finish();
    longest = std::max(longest, length);
    next.push_back(row);
  }
  finish();
  return batches;
}

bool is_cross(std::string_view place) { return place.ends_with(".cross"); }

bool reads_source(std::string_view place, const Batch& batch) {
  return batch.source_ids.defined() && place.starts_with("encoder.");
}

CountedPositions counted_positions(std::string_view place, const Batch& batch, int64_t row) {
  const int64_t source =
      batch.source_ids.defined() ? length_of(batch.source_ids, batch.source_lens, row) : 0;
  if (reads_source(place, batch)) return {source, source};
  const int64_t length = length_of(batch.ids, batch.lens, row);
  return {length, is_cross(place) ? source : length};
}

Metric loss_metric() {
  const auto measure = [](Context& context, const models::Model& model, const Batch& batch,
                          const Value& output) {
    return for_each_row(batch, output, [&](const PredictedRow& row, int64_t targets) {
      const Value loss = model.loss(context, row.output, row.targets, 0);
      return Measured{loss.item(), static_cast<double>(targets)};
    });
  };
  return {.name = "loss", .measure = measure};
}

Metric exact_match_metric() {
  const auto measure = [](Context& context, const models::Model& model, const Batch& batch,
                          const Value& output) {
    return for_each_row(batch, output, [&](const PredictedRow& row, int64_t /*targets*/) {
      const Tensor logits = model.logits(context, row.output).data();
      return Measured{all_likeliest(logits, row.targets) ? 1.0 : 0.0, 1};
    });
  };
  return {.name = "exact_match", .higher_is_better = true, .measure = measure};
}

double weighted_mean(const std::vector<Measured>& values, const std::string& name) {
  double sum = 0;
  double weight = 0;
  for (const Measured& one : values) {
    if (one.weight == 0) continue;
    sum += one.value * one.weight;
    weight += one.weight;
  }
  if (weight == 0) base::refuse("examples", name, "none of them has a target");
  return sum / weight;
}

void check_examples(const models::Model& model, const Examples& examples) {
  if (!model.has_logits()) {
    base::refuse("heads", model.type(),
                 "the model predicts no words, so there is nothing to "
                 "measure its heads by");
  }
  if (example_count(examples) == 0) base::refuse("heads", "examples", "there are none");
  for (const Batch& batch : examples) {
    if (batch.targets.defined() && batch.targets.shape() == batch.ids.shape()) continue;
    base::refuse("heads", "examples",
                 "targets of shape " + batch.ids.shape().text() + " are needed");
  }
}

}  // namespace headlight::heads
