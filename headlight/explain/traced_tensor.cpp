// Looking things up in a TracedTensor, and the list of all formulas.
#include "headlight/explain/traced_tensor.h"

#include <algorithm>
#include <array>

namespace headlight::explain {
namespace {

constexpr std::string_view kFormulaKeys[] = {
    "ids",
    "embedding.lookup",
    "embedding.segments",
    "embedding.sum",
    "positions.sinusoid",
    "positions.sinusoid.column",
    "positions.sinusoid.halves",
    "positions.sinusoid.halves.minus_one",
    "positions.sinusoid.minus_one",
    "positions.learned",
    "attention.projected",
    "attention.projected.bias",
    "attention.project",
    "attention.project.bias",
    "attention.cut",
    "attention.split",
    "attention.scores",
    "attention.scale",
    "attention.scale.sqrt_width",
    "attention.scale.width",
    "attention.scale.none",
    "attention.mask",
    "attention.row_max",
    "attention.row_sum",
    "attention.softmax",
    "attention.weigh",
    "attention.sum",
    "attention.gates",
    "attention.merge",
    "attention.merge.gates",
    "attention.output",
    "attention.output.bias",
    "residual.pass",
    "residual.add",
    "residual.add.pre",
    "norm.mean",
    "norm.deviation",
    "norm.deviation.outside",
    "norm.deviation.sample",
    "norm.normalize",
    "norm.scale_shift",
    "norm.scale_shift.bias",
    "ffn.hidden",
    "ffn.hidden.bias",
    "ffn.activation",
    "ffn.output",
    "ffn.output.bias",
    "prediction.hidden",
    "prediction.hidden.bias",
    "prediction.activation",
    "prediction.logits",
    "prediction.logits.bias",
    "prediction.logits.flattened",
    "prediction.logits.flattened.bias",
    "prediction.row_max",
    "prediction.row_sum",
    "prediction.softmax",
    "parameter",
};

}  // namespace

namespace {

const io::Json* find(const io::Json::Object& attributes, std::string_view name) {
  for (const io::Json::Member& member : attributes) {
    if (member.first == name) return &member.second;
  }
  return nullptr;
}

}  // namespace

std::string_view name_of(Axis axis) {
  constexpr std::array<std::string_view, 6> kNames = {"batch",        "head",   "token",
                                                      "source_token", "column", "vocabulary"};
  return kNames[static_cast<size_t>(axis)];
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

std::string_view TracedTensor::word(std::string_view attribute) const {
  const io::Json* value = find(attributes, attribute);
  const std::string* text = value == nullptr ? nullptr : value->text();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

int TracedTensor::head_axis() const {
  const auto head = std::find(axes.begin(), axes.end(), Axis::head);
  return head == axes.end() ? -1 : static_cast<int>(head - axes.begin());
}

std::span<const std::string_view> formula_keys() { return kFormulaKeys; }

}  // namespace headlight::explain
