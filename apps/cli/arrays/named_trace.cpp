// Which places a trace keeps.
#include "apps/cli/arrays/named_trace.h"

#include "apps/cli/program/arguments.h"

namespace headlight::cli {
namespace {

using tensor::Tensor;

constexpr double kWeightedValuesLimit = 64e6;

}  // namespace

NamedTrace::NamedTrace(std::set<std::string> only)
    : only_(std::move(only)),
      recording_(
          {.wants = [this](std::string_view place) { return wants(place); }, .reports = false}) {}

bool NamedTrace::wants(std::string_view place) {
  if (!only_.empty()) {
    asked_.emplace(place);
    return only_.contains(std::string(place));
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
  for (const auto& [name, tensor] : recording_.seen()) list.push_back({name, tensor});
  return list;
}

void NamedTrace::check_all_seen() const {
  for (const std::string& name : only_) {
    if (has(name)) continue;
    const std::vector<std::string_view> places(asked_.begin(), asked_.end());
    throw base::Error(base::ErrorKind::bad_input, "--only", io::in_quotes(name),
                      "there is no such tensor" + base::nearest_hint(name, places));
  }
}

}  // namespace headlight::cli
