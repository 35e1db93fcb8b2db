// How each operation hands a direction on, and which numbers it adds by itself.
#include "headlight/heads/linear_walk.h"

#include <algorithm>
#include <iterator>

#include "headlight/heads/linear_steps.h"

namespace headlight::heads {
namespace {

using autograd::Recording;
using autograd::Value;
using tensor::Tensor;

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void add_to(std::vector<double>& sum, std::span<const double> more) {
  if (sum.empty()) sum.resize(more.size());
  for (size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

// What an affine layer's input has for this direction of its output.
std::vector<double> through_weight(const Recording::Step& step, std::span<const double> direction) {
  const tensor::ConstMatrixView weight = weight_of(step);
  std::vector<double> result(static_cast<size_t>(weight.rows));
  for (int64_t out = 0; out < weight.cols; ++out) {
    const double factor = direction[static_cast<size_t>(out)];
    if (factor == 0) continue;  // all words but two
    for (int64_t in = 0; in < weight.rows; ++in) {
      result[static_cast<size_t>(in)] += factor * weight.at(in, out);
    }
  }
  return result;
}

}  // namespace

LinearWalk::LinearWalk(const Recording& recording, std::vector<AttentionHeads> attentions)
    : recording_(recording), attentions_(std::move(attentions)) {
  for (const Step& step : recording.steps()) {
    if (step.is_name()) names_.emplace(step.outputs.front().value, step.name);
  }
}

void LinearWalk::start(const Value& result, int64_t row, std::vector<double> direction) {
  for (const Step& step : recording_.steps()) {
    for (const Recording::Output& output : step.outputs) {
      if (recording_.value(output.value).data().raw() == result.data().raw()) {
        result_ = output.value;
      }
    }
  }
  if (result_ != Recording::kUnknown) {
    arrived_[{result_, row}] = std::move(direction);
    return;
  }
  parts_.emplace_back();
  add_part("logits", PartKind::other, dot(direction, row_of(result.data(), row)));
}

void LinearWalk::run() {
  const std::vector<Step>& steps = recording_.steps();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    parts_.emplace_back();
    visit(*step);
  }
  // Rows that nobody reported to have made.
  parts_.emplace_back();
  for (const auto& [place, direction] : arrived_) {
    const Tensor& values = recording_.value(place.first).data();
    add_part(name_or(place.first, "given"), PartKind::other,
             dot(direction, row_of(values, place.second)));
  }
  arrived_.clear();
}

std::vector<AttributedPart> LinearWalk::take_parts() {
  std::vector<AttributedPart> all;
  for (auto group = parts_.rbegin(); group != parts_.rend(); ++group) {
    std::move(group->begin(), group->end(), std::back_inserter(all));
  }
  parts_.clear();
  return all;
}

std::vector<ActivationGain> LinearWalk::take_gains() {
  std::ranges::reverse(gains_);
  return std::move(gains_);
}

std::vector<LinearWalk::Arrived> LinearWalk::take(int64_t value) {
  std::vector<Arrived> rows;
  const auto first = arrived_.lower_bound({value, 0});
  const auto last = arrived_.lower_bound({value + 1, 0});
  for (auto at = first; at != last; ++at) {
    rows.push_back({at->first.second, std::move(at->second)});
  }
  arrived_.erase(first, last);
  return rows;
}

void LinearWalk::pass(const Input& input, int64_t row, std::span<const double> direction) {
  if (direction.empty()) return;  // an attention without heads
  if (input.source.value != Recording::kUnknown) {
    pass_to(input.source, input.value, row, direction);
    return;
  }
  // Not of this run: a constant or a parameter that is added as it is.
  add_part(input.role, PartKind::other, dot(direction, row_of(input.value.data(), row)));
}

void LinearWalk::pass_to(const Recording::Source& source, const Value& value, int64_t row,
                         std::span<const double> direction) {
  const Tensor& whole = recording_.value(source.value).data();
  size_t done = 0;
  for (const RowStretch& stretch :
       stretches_of(source, whole, value.data(), row, static_cast<int64_t>(direction.size()))) {
    Direction& to = arrived_[{source.value, stretch.row}];
    if (to.empty()) to.resize(static_cast<size_t>(whole.size(-1)));
    for (int64_t i = 0; i < stretch.count; ++i) {
      to[static_cast<size_t>(stretch.column + i)] += direction[done++];
    }
  }
}

void LinearWalk::add_part(std::string name, PartKind kind, double value) {
  parts_.back().push_back({std::move(name), kind, value});
}

std::string LinearWalk::place_before(int64_t value, std::string_view ending) const {
  const auto [first, last] = names_.equal_range(value);
  for (auto name = first; name != last; ++name) {
    if (!name->second.ends_with(ending)) continue;
    return name->second.substr(0, name->second.size() - ending.size());
  }
  return {};
}

std::string LinearWalk::name_or(int64_t value, std::string_view otherwise) const {
  const auto first = names_.lower_bound(value);
  return std::string(first == names_.end() || first->first != value ? otherwise : first->second);
}

void LinearWalk::visit(const Step& step) {
  if (step.is_name()) return visit_name(step);
  const std::string_view operation = step.report.operation;
  if (is_norm(step)) visit_norm(step);
  for (const Recording::Output& output : step.outputs) {
    for (const Arrived& at : take(output.value)) {
      visits_.push_back({&step, output.value, at.row});
      if (output.role != "output") {
        visit_other(step, output.value, at);
      } else if (operation == "linear") {
        visit_linear(step, at);
      } else if (operation == "attention") {
        visit_attention(step, at);
      } else if (operation == "embedding" || operation == "position_rows") {
        visit_embedding(step, at);
      } else if (operation == "add" || operation == "scale") {
        visit_sum(step, at);
      } else {
        visit_other(step, output.value, at);
      }
    }
  }
}

// A part of a value that was named is a value of its own.
void LinearWalk::visit_name(const Step& step) {
  if (step.named.is_whole()) return;
  const int64_t value = step.outputs.front().value;
  for (const Arrived& at : take(value)) {
    visits_.push_back({&step, value, at.row});
    pass_to(step.named, recording_.value(value), at.row, at.direction);
  }
}

// y = f(x W + b).
void LinearWalk::visit_linear(const Step& step, const Arrived& at) {
  const int64_t output = step.output("output");
  const std::string place = place_before(output, ".output");
  if (place.ends_with(".ffn") || place == "ffn") return add_feed_forward(step, place, at);
  Direction direction = at.direction;
  std::string name = name_or(output, "linear");
  PartKind kind = PartKind::other;
  if (step.word("activation") != "none") {
    name = through_activation(step, at.row, direction);
    kind = PartKind::output_bias;
  } else if (output == result_) {
    name = "output";
    kind = PartKind::output_bias;
  } else if (!place.empty()) {
    name = place;
    kind = PartKind::attention_bias;
  }
  if (const Input* bias = step.input("bias")) {
    add_part(name + ".bias", kind, dot(direction, row_of(bias->value.data(), 0)));
  }
  pass(*step.input("input"), at.row, through_weight(step, direction));
}

// One part, whatever is before its last weight, and its last bias.
void LinearWalk::add_feed_forward(const Step& step, const std::string& place, const Arrived& at) {
  const Input* bias = step.input("bias");
  const double added = bias ? dot(at.direction, row_of(bias->value.data(), 0)) : 0;
  const Direction row = row_of(recording_.value(step.output("output")).data(), at.row);
  add_part(place, PartKind::feed_forward, dot(at.direction, row) - added);
  if (bias) add_part(place + ".bias", PartKind::feed_forward_bias, added);
}

// Multiplies by the gain that each number had. Activations are 0 at 0.
std::string LinearWalk::through_activation(const Step& step, int64_t row, Direction& direction) {
  const Direction before = row_of(recording_.value(step.output("hidden")).data(), row);
  const Direction after = row_of(recording_.value(step.output("output")).data(), row);
  for (size_t i = 0; i < direction.size(); ++i) {
    direction[i] *= before[i] == 0 ? 0 : after[i] / before[i];
  }
  const std::string& hidden = step.report.place;
  const std::string place = hidden.empty() ? "linear" : hidden.substr(0, hidden.rfind('.'));
  gains_.push_back({place, step.word("activation")});
  return place;
}

// s = x + residual where there is one, y = norm(s); both s and y may be read later on.
void LinearWalk::visit_norm(const Step& step) {
  const Input* residual = step.input("residual");
  const Value rows = residual ? recording_.value(step.output("sum")) : step.input("input")->value;
  std::map<int64_t, Direction> before;
  for (const Arrived& at : take(step.output("output"))) {
    add_to(before[at.row], before_norm(step, rows, at));
  }
  if (residual) {
    for (const Arrived& at : take(step.output("sum"))) add_to(before[at.row], at.direction);
  }
  for (const auto& [row, direction] : before) {
    visits_.push_back({&step, step.output("output"), row});
    pass(*step.input("input"), row, direction);
    if (residual) pass(*residual, row, direction);
  }
}

// y = (s - mean) / deviation * weight + bias, or y = s / root * weight. Deviation and root are
// taken as the numbers that they were; they are computed from the run's row again, in doubles.
LinearWalk::Direction LinearWalk::before_norm(const Step& step, const Value& rows,
                                              const Arrived& at) {
  const bool is_centered = is_centered_norm(step);
  const Direction weights = row_of(step.input("weight")->value.data(), 0);
  const size_t width = weights.size();  // of a head, where each is normalised by itself
  const Direction row = row_of(rows.data(), at.row);
  Direction result(row.size());
  for (size_t begin = 0; begin < row.size(); begin += width) {
    const double scale = norm_scale(step, std::span(row).subspan(begin, width));
    double shared = 0;
    for (size_t i = 0; i < width; ++i) {
      result[begin + i] =
          at.direction[begin + i] * (weights[i] + step.number("weight_offset")) * scale;
      shared += result[begin + i];
    }
    if (!is_centered) continue;
    for (size_t i = 0; i < width; ++i) result[begin + i] -= shared / static_cast<double>(width);
  }
  if (const Input* bias = step.input("bias")) {
    const Direction biases = row_of(bias->value.data(), 0);
    double added = 0;
    for (size_t i = 0; i < row.size(); ++i) added += at.direction[i] * biases[i % width];
    const std::string& place = step.report.place;
    add_part((place.empty() ? "norm" : place) + ".bias", PartKind::norm_bias, added);
  }
  return result;
}

void LinearWalk::visit_attention(const Step& step, const Arrived& at) {
  const Direction merged = row_of(recording_.value(step.output("output")).data(), at.row);
  const auto found = std::ranges::find(attentions_, step.report.place, &AttentionHeads::place);
  const auto heads = static_cast<size_t>(step.number("heads"));
  const size_t width = heads == 0 ? 0 : merged.size() / heads;
  for (size_t head = 0; head < heads; ++head) {
    const std::span<const double> direction(at.direction.data() + head * width, width);
    const std::span<const double> numbers(merged.data() + head * width, width);
    const std::string name = found == attentions_.end()
                                 ? step.report.place + "." + std::to_string(head)
                                 : found->head_names[head];
    add_part(name, PartKind::head, dot(direction, numbers));
  }
}

// Rows of a table; of one that this run computed, the rows are followed.
void LinearWalk::visit_embedding(const Step& step, const Arrived& at) {
  const int64_t output = step.output("output");
  const bool is_positions = step.report.operation == "position_rows";
  const Input* table = step.input("table");
  if (!is_positions && table->source.value != Recording::kUnknown) {
    Direction direction = at.direction;
    for (double& number : direction) number *= step.number("scale", 1);
    const Tensor ids = step.input("ids")->value.data().contiguous();
    return pass(*table, ids.data<int64_t>()[at.row], direction);
  }
  add_part(name_or(output, step.report.operation),
           is_positions ? PartKind::positions : PartKind::embedding,
           dot(at.direction, row_of(recording_.value(output).data(), at.row)));
}

// alpha * left + right, where right may be repeated; or factor * input.
void LinearWalk::visit_sum(const Step& step, const Arrived& at) {
  const Input* right = step.input("right");
  Direction direction = at.direction;
  for (double& number : direction) number *= step.number(right ? "alpha" : "factor", 1);
  pass(*step.input(right ? "left" : "input"), at.row, direction);
  if (right) pass(*right, at.row % right->value.data().matrix().rows, at.direction);
}

void LinearWalk::visit_other(const Step& step, int64_t value, const Arrived& at) {
  add_part(name_or(value, step.report.operation), PartKind::other,
           dot(at.direction, row_of(recording_.value(value).data(), at.row)));
}

}  // namespace headlight::heads
