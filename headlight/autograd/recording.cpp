// Which values of a run are the same, and which are parts of others.
#include "headlight/autograd/recording.h"

#include <utility>

#include "headlight/autograd/checks.h"

namespace headlight::autograd {
namespace {

using tensor::Tensor;

bool same_strides(const Tensor& a, const Tensor& b) {
  for (int axis = 0; axis < a.rank(); ++axis) {
    if (a.size(axis) > 1 && b.size(axis) > 1 && a.stride(axis) != b.stride(axis)) return false;
  }
  return true;
}

// The same numbers in the same order, perhaps in another shape.
bool same_numbers(const Tensor& a, const Tensor& b) {
  if (a.raw() != b.raw() || a.elements() != b.elements()) return false;
  if (a.is_contiguous() && b.is_contiguous()) return true;
  return a.shape() == b.shape() && same_strides(a, b);
}

// Where `part` begins in `whole`, one number per axis; nothing when it is no part of it.
std::optional<std::vector<int64_t>> begin_of(const Tensor& part, const Tensor& whole) {
  if (part.rank() != whole.rank() || part.dtype() != whole.dtype() || !same_strides(part, whole)) {
    return {};
  }
  int64_t offset =
      (part.raw() - whole.raw()) / static_cast<int64_t>(tensor::size_of(whole.dtype()));
  std::vector<int64_t> begin(static_cast<size_t>(whole.rank()));
  if (offset < 0) return {};
  for (int axis = 0; axis < whole.rank(); ++axis) {
    if (whole.size(axis) <= 1) continue;
    const int64_t at = offset / whole.stride(axis);
    offset -= at * whole.stride(axis);
    if (at + part.size(axis) > whole.size(axis)) return {};
    begin[static_cast<size_t>(axis)] = at;
  }
  if (offset != 0) return {};
  return begin;
}

}  // namespace

const Recording::Input* Recording::Step::input(std::string_view role) const {
  for (const Input& input : inputs) {
    if (input.role == role) return &input;
  }
  return nullptr;
}

int64_t Recording::Step::output(std::string_view role) const {
  for (const Output& output : outputs) {
    if (output.role == role) return output.value;
  }
  return kUnknown;
}

const AttributeValue* Recording::Step::attribute(std::string_view wanted) const {
  for (const Attribute& attribute : report.attributes) {
    if (attribute.name == wanted) return &attribute.value;
  }
  return nullptr;
}

double Recording::Step::number(std::string_view wanted, double otherwise) const {
  const AttributeValue* value = attribute(wanted);
  if (value == nullptr) return otherwise;
  if (const auto* truth = std::get_if<bool>(value)) return *truth ? 1 : 0;
  if (const auto* whole = std::get_if<int64_t>(value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(value)) return *number;
  return otherwise;
}

std::string Recording::Step::word(std::string_view wanted) const {
  const AttributeValue* value = attribute(wanted);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::string() : *text;
}

void Recording::see(std::string_view place, const Tensor& values) {
  seen_[std::string(place)] = values;
}

const Tensor& Recording::seen(std::string_view place) const {
  const auto found = seen_.find(place);
  if (found == seen_.end()) refuse("recording", place, "was not shown by the run");
  return found->second;
}

int64_t Recording::add(const Value& value) {
  const auto number = static_cast<int64_t>(values_.size());
  values_.push_back(value);
  by_memory_.emplace(value.data().memory(), number);
  return number;
}

int64_t Recording::know(const Value& value) {
  const Source source = source_of(value);
  return source.value != kUnknown && source.is_whole() ? source.value : add(value);
}

Recording::Source Recording::source_of(const Value& value) const {
  const auto [first, last] = by_memory_.equal_range(value.data().memory());
  Source part;
  for (auto at = first; at != last; ++at) {
    const Tensor& known = values_[static_cast<size_t>(at->second)].data();
    if (same_numbers(value.data(), known)) return {at->second};
    if (part.value != kUnknown) continue;
    if (auto begin = begin_of(value.data(), known)) part = {at->second, *std::move(begin)};
  }
  return part;
}

void Recording::commit(Step step) {
  for (const ReportedValue& input : step.report.inputs) {
    step.inputs.push_back({input.role, source_of(input.value), input.value});
  }
  for (const ReportedValue& output : step.report.outputs) {
    step.outputs.push_back({output.role, know(output.value)});
  }
  steps_.push_back(std::move(step));
}

void Recording::report(const Report& report) {
  if (report.place.empty() && options_.keeps) {
    pending_.push_back(report);
  } else if (!options_.keeps || options_.keeps(report.place)) {
    for (Report& earlier : pending_) commit({.report = std::move(earlier)});
    pending_.clear();
    commit({.report = report});
  } else {
    pending_.clear();
  }
}

void Recording::name(std::string_view place, const Value& value) {
  if (options_.keeps && !options_.keeps(place)) return pending_.clear();
  for (Report& earlier : pending_) commit({.report = std::move(earlier)});
  pending_.clear();
  Step step;
  step.name = place;
  step.named = source_of(value);
  if (step.named.value == kUnknown) step.named = {add(value)};
  step.outputs = {{"output", step.named.is_whole() ? step.named.value : add(value)}};
  steps_.push_back(std::move(step));
}

Value Recording::find(std::string_view name) const {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->name == name) return value(step->outputs.front().value);
  }
  return {};
}

const Recording::Step* Recording::operation_at(std::string_view place) const {
  for (const Step& step : steps_) {
    if (!step.is_name() && step.report.place == place) return &step;
  }
  return nullptr;
}

}  // namespace headlight::autograd
