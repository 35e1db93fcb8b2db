// Looking things up in a TracedTensor.
#include "headlight/explain/traced_tensor.h"

#include <algorithm>
#include <array>

#include "headlight/explain/operation.h"

namespace headlight::explain {
namespace {

const io::Json* find(const io::Json::Object& attributes, std::string_view name) {
  for (const io::Json::Member& member : attributes) {
    if (member.first == name) return &member.second;
  }
  return nullptr;
}

}  // namespace

std::string_view name_of(Axis axis) {
  constexpr std::array<std::string_view, 7> kNames = {
      "batch", "head", "token", "source_token", "column", "vocabulary", "label"};
  return kNames[static_cast<size_t>(axis)];
}

const Operation& TracedTensor::description() const {
  return operation_table().operations.find(operation)->second;
}

const std::string* TracedTensor::operand(std::string_view role) const {
  for (const Operand& operand : operands) {
    if (operand.role == role) return &operand.name;
  }
  return nullptr;
}

double TracedTensor::number(std::string_view attribute, double otherwise) const {
  const io::Json* value = find(attributes, attribute);
  if (value == nullptr) return otherwise;
  if (const auto truth = value->boolean()) return *truth ? 1 : 0;
  return value->number().value_or(otherwise);
}

bool TracedTensor::has_attribute(std::string_view attribute) const {
  return find(attributes, attribute) != nullptr;
}

std::string_view TracedTensor::word(std::string_view attribute) const {
  const io::Json* value = find(attributes, attribute);
  const std::string* text = value == nullptr ? nullptr : value->text();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

void TracedTensor::set_attribute(std::string_view attribute, io::Json value) {
  for (io::Json::Member& member : attributes) {
    if (member.first != attribute) continue;
    member.second = std::move(value);
    return;
  }
  attributes.emplace_back(std::string(attribute), std::move(value));
}

int TracedTensor::head_axis() const {
  const auto head = std::find(axes.begin(), axes.end(), Axis::head);
  return head == axes.end() ? -1 : static_cast<int>(head - axes.begin());
}

int64_t TracedTensor::head_number(int64_t index) const {
  return head_numbers.empty() ? index : head_numbers[static_cast<size_t>(index)];
}

std::optional<int64_t> TracedTensor::head_index(int64_t number) const {
  if (!head_numbers.empty()) {
    const auto found = std::ranges::find(head_numbers, number);
    if (found == head_numbers.end()) return std::nullopt;
    return found - head_numbers.begin();
  }
  if (head_axis() < 0 || number < 0 || number >= shape[head_axis()]) return std::nullopt;
  return number;
}

}  // namespace headlight::explain
