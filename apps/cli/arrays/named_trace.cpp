// Which places a trace keeps.
#include "apps/cli/arrays/named_trace.h"

#include "apps/cli/program/arguments.h"

namespace headlight::cli {
namespace {

using tensor::Tensor;

constexpr double kWeightedValuesLimit = 64e6;

NamedSelection parse_selection(const std::string& name, std::string_view source) {
  const size_t open = name.find('[');
  if (open == std::string::npos) return {.place = name};
  if (!name.ends_with(']')) {
    throw base::Error(base::ErrorKind::usage, std::string(source), io::in_quotes(name),
                      "must end with a bracket, as decoder.0.self.head.2.weights[3,5]");
  }
  const std::string index = name.substr(open + 1, name.size() - open - 2);
  return {.place = name.substr(0, open),
          .index = recipes::integers_of(source, index, {0, INT64_MAX})};
}

// What is left of the axes in front of the index.
Tensor at(const Tensor& whole, const NamedSelection& selection, const std::string& name) {
  const auto rank = static_cast<int>(selection.index.size());
  if (rank > whole.rank()) {
    base::refuse("--only", io::in_quotes(name),
                 std::to_string(rank) + " numbers for a tensor of shape " + whole.shape().text());
  }
  Tensor part = whole;
  for (int axis = -rank; axis < 0; ++axis) {
    const int64_t index = selection.index[static_cast<size_t>(axis + rank)];
    if (index >= whole.size(axis)) {
      base::refuse("--only", io::in_quotes(name),
                   "index " + std::to_string(index) + " is not within 0 and " +
                       std::to_string(whole.size(axis) - 1) + ", the shape is " +
                       whole.shape().text());
    }
    part = part.slice(axis, index, 1);
  }
  const auto sizes = whole.shape().sizes();
  return part.contiguous().reshaped(
      tensor::Shape(std::vector<int64_t>(sizes.begin(), sizes.end() - rank)));
}

}  // namespace

NamedSelections parse_selections(std::string_view names, std::string_view source) {
  NamedSelections selections;
  std::string name;
  int depth = 0;  // of brackets, whose commas are their own
  const auto add = [&] {
    selections.emplace(name, parse_selection(name, source));
    name.clear();
  };
  for (const char letter : names) {
    if (letter == '[') ++depth;
    if (letter == ']') --depth;
    if (letter == ',' && depth <= 0) {
      add();
    } else {
      name += letter;
    }
  }
  add();
  return selections;
}

NamedTrace::NamedTrace(NamedSelections only)
    : only_(std::move(only)),
      recording_(
          {.wants = [this](std::string_view place) { return wants(place); }, .reports = false}) {
  for (const auto& [name, selection] : only_) places_.insert(selection.place);
}

bool NamedTrace::wants(std::string_view place) {
  if (!only_.empty()) {
    asked_.emplace(place);
    return places_.contains(place);
  }
  const size_t dot = place.rfind('.');
  const std::string prefix(place.substr(0, dot == std::string_view::npos ? 0 : dot + 1));
  const std::string_view name = place.substr(prefix.size());
  const bool of_one_head =
      prefix.starts_with("head.") || prefix.find(".head.") != std::string::npos;
  // Projections before the split into heads are query, key and value over again.
  if (of_one_head || name.starts_with("projected")) return false;
  return name != "weighted_values" || weighted_values_bytes(prefix) < kWeightedValuesLimit;
}

// (B, H, T, S, E); query (B, H, T, D) and value (B, Hkv, S, E) are shown before anything else.
double NamedTrace::weighted_values_bytes(const std::string& prefix) const {
  const Tensor& query = recording_.seen(prefix + "query");
  const Tensor& value = recording_.seen(prefix + "value");
  const auto rows = static_cast<double>(query.size(0) * query.size(1) * query.size(2));
  return rows * static_cast<double>(value.size(2) * value.size(3)) * sizeof(float);
}

std::vector<io::NamedTensor> NamedTrace::tensors() const {
  std::vector<io::NamedTensor> list;
  for (const auto& [name, selection] : only_) {
    list.push_back({name, at(recording_.seen(selection.place), selection, name)});
  }
  if (!only_.empty()) return list;
  for (const auto& [name, tensor] : recording_.seen()) list.push_back({name, tensor});
  return list;
}

void NamedTrace::check_all_seen() const {
  for (const auto& [name, selection] : only_) {
    if (has(selection.place)) continue;
    const std::vector<std::string_view> places(asked_.begin(), asked_.end());
    throw base::Error(base::ErrorKind::bad_input, "--only", io::in_quotes(name),
                      "there is no such tensor" + base::nearest_hint(name, places));
  }
}

}  // namespace headlight::cli
