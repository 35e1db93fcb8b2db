// Classifier: one row of each sequence, and the layers on it.
#include "headlight/models/classifier.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "headlight/models/model.h"
#include "headlight/models/parameters.h"

namespace headlight::models {
namespace {

using autograd::Context;
using autograd::RowRange;
using autograd::Value;

constexpr const char* kPlace = "classifier";

int64_t read_width(const ClassifierDesign& design) {
  return design.projection.empty() ? design.width : design.narrow_width;
}

// The last row that counts and is not padding; the first where all are, as others have it.
int64_t last_row(const Batch& batch, int64_t sequence, int64_t count,
                 const std::optional<int64_t>& padding) {
  if (!padding || !batch.ids.defined()) return count - 1;
  const int64_t* ids = batch.ids.data<int64_t>() + sequence * batch.ids.size(1);
  int64_t row = count - 1;
  while (row > 0 && ids[row] == *padding) --row;
  return row;
}

}  // namespace

int64_t parameter_count(const ClassifierDesign& design) {
  const int64_t width = read_width(design);
  int64_t count = std::ssize(design.classes.labels) * (width + (design.output_bias ? 1 : 0));
  if (!design.projection.empty()) count += design.width * width;
  if (!design.transform.empty()) count += width * width + (design.transform_bias ? width : 0);
  if (!design.norm.empty()) count += parameter_count(design.norm_options);
  return count;
}

Classifier::Classifier(ClassifierDesign design)
    : design_(std::move(design)),
      output_(design_.output, {.inputs = read_width(design_),
                               .outputs = std::ssize(design_.classes.labels),
                               .bias = design_.output_bias}) {
  const int64_t width = read_width(design_);
  if (!design_.projection.empty()) {
    projection_.emplace(
        design_.projection,
        nn::LinearOptions{.inputs = design_.width, .outputs = width, .bias = false});
  }
  if (!design_.transform.empty()) {
    transform_.emplace(design_.transform, nn::LinearOptions{.inputs = width,
                                                            .outputs = width,
                                                            .bias = design_.transform_bias,
                                                            .activation = design_.activation});
  }
  if (!design_.norm.empty()) norm_.emplace(design_.norm, design_.norm_options);
}

nn::Parameters Classifier::parameters() const {
  nn::Parameters all;
  if (projection_) nn::append(all, projection_->parameters());
  if (transform_) nn::append(all, transform_->parameters());
  if (norm_) nn::append(all, norm_->parameters());
  nn::append(all, output_.parameters());
  return all;
}

std::vector<RowRange> Classifier::ranges(const Value& output, const Batch& batch) const {
  std::vector<RowRange> ranges;
  for (int64_t b = 0; b < output.size(0); ++b) {
    const int64_t count = batch.lens.defined() ? batch.lens.data<int64_t>()[b] : output.size(1);
    if (count < 1) {
      base::refuse("classifier", "ids", "sequence " + std::to_string(b) + " is empty");
    }
    switch (design_.row) {
      case ClassifiedRow::first:
        ranges.push_back({.first = 0, .count = 1});
        break;
      case ClassifiedRow::mean:
        ranges.push_back({.first = 0, .count = count});
        break;
      case ClassifiedRow::last:
        ranges.push_back({.first = last_row(batch, b, count, design_.padding), .count = 1});
        break;
    }
  }
  return ranges;
}

Value Classifier::logits(Context& context, const Value& output, const Batch& batch) const {
  Value x = autograd::mean_rows(context, output, ranges(output, batch));
  autograd::observe(context, kPlace, "pooled", x);
  if (projection_) {
    x = projection_->forward(context, x);
    autograd::observe(context, kPlace, "narrowed", x);
  }
  if (transform_) {
    if (design_.drops_input) {
      x = autograd::dropout(context, x, design_.dropout, "classifier.pooled");
    }
    x = transform_->forward(context, x, "classifier.hidden");
    autograd::observe(context, kPlace, "activated", x);
  }
  if (norm_) x = norm_->forward(context, x);
  x = autograd::dropout(context, x, design_.dropout, "classifier.activated");
  const Value logits = output_.forward(context, x);
  autograd::observe(context, kPlace, "logits", logits);
  const bool is_single = design_.classes.problem == ClassProblem::single_label;
  if (is_single && autograd::watched(context, kPlace, "probabilities")) {
    autograd::observe(context, kPlace, "probabilities",
                      autograd::softmax(context, Value::leaf(logits.data())));
  }
  return autograd::reshape(logits, {output.size(0), label_count()});
}

std::vector<LabelScore> label_scores(const Classes& classes, const float* logits, size_t most) {
  std::vector<LabelScore> scores;
  for (size_t i = 0; i < classes.labels.size(); ++i) {
    scores.push_back({classes.labels[i], static_cast<double>(logits[i]), logits[i]});
  }
  if (classes.problem == ClassProblem::regression) {
    scores.resize(std::min(most, scores.size()));
    return scores;
  }
  if (classes.problem == ClassProblem::multi_label) {
    for (LabelScore& one : scores) one.score = 1 / (1 + std::exp(-one.score));
  } else {
    const double largest = std::ranges::max_element(scores, {}, &LabelScore::score)->score;
    double sum = 0;
    for (LabelScore& one : scores) sum += one.score = std::exp(one.score - largest);
    for (LabelScore& one : scores) one.score /= sum;
  }
  const auto size = [](const LabelScore& one) {
    return std::isnan(one.score) ? -std::numeric_limits<double>::infinity() : one.score;
  };
  std::ranges::stable_sort(scores, std::greater(), size);
  scores.resize(std::min(most, scores.size()));
  return scores;
}

}  // namespace headlight::models
