// Trace: the list, and numbers that are kept or reconstructed.
#include "headlight/explain/trace.h"

#include <utility>

#include "headlight/explain/cell.h"
#include "headlight/explain/reconstruction.h"

namespace headlight::explain {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::Tensor;

// "encoder.0.self" and "scores" of "encoder.0.self.scores".
std::pair<std::string, std::string> place_and_stage(const std::string& name) {
  const size_t dot = name.rfind('.');
  return {name.substr(0, dot), name.substr(dot + 1)};
}

double number_at(const Tensor& values, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    offset = offset * values.size(static_cast<int>(axis)) + index[axis];
  }
  if (values.dtype() == tensor::DType::i64) {
    return static_cast<double>(values.data<int64_t>()[offset]);
  }
  return values.data<float>()[offset];
}

bool shows_mask(const TracedTensor& tensor) {
  return tensor.name.ends_with(".self.scaled_scores") ||
         tensor.name.ends_with(".self.masked_scores") || tensor.name.ends_with(".self.weights");
}

}  // namespace

Trace::Trace(base::ThreadPool& threads, Input input, const nn::Parameters& parameters)
    : threads_(&threads),
      input_(std::move(input)),
      reconstruction_(std::make_unique<Reconstruction>()) {
  for (const nn::ParameterHandle& parameter : parameters) {
    model_parameters_[parameter->name()] = parameter;
  }
}

Trace::Trace(Trace&&) noexcept = default;
Trace& Trace::operator=(Trace&&) noexcept = default;
Trace::~Trace() = default;

void Trace::use_parameter(const std::string& name) {
  const auto found = model_parameters_.find(name);
  if (found == model_parameters_.end() || parameter_places_.contains(name)) return;
  const tensor::Shape& shape = found->second->shape();
  parameter_places_[name] = parameters_.size();
  parameters_.push_back({.name = name,
                         .operation = Operation::parameter,
                         .shape = shape,
                         .axes = std::vector<Axis>(static_cast<size_t>(shape.rank()), Axis::column),
                         .formula = "parameter",
                         .text = "parameter"});
}

void Trace::add(TracedTensor tensor, Tensor values) {
  for (const Operand& operand : tensor.operands) use_parameter(operand.name);
  // A table has a row for each id.
  const std::string* table = tensor.operand("table");
  if (table != nullptr && tensor.operand("ids") != nullptr) {
    const auto place = parameter_places_.find(*table);
    if (place != parameter_places_.end()) {
      parameters_[place->second].axes.front() = Axis::vocabulary;
    }
  }
  places_[tensor.name] = tensors_.size();
  if (values.defined()) values_[tensor.name] = std::move(values);
  tensors_.push_back(std::move(tensor));
}

void Trace::add_attention(const std::string& place, const std::string& inputs, float scale,
                          bool causal) {
  reconstruction_->add(place, {.query = values(inputs + ".query"),
                               .key = values(inputs + ".key"),
                               .value = values(inputs + ".value"),
                               .scale = scale,
                               .causal = causal});
}

Tensor Trace::stage(const std::string& place, std::string_view name) const {
  return attention_stage(*threads_, *reconstruction_->find(place), name);
}

const TracedTensor* Trace::find(std::string_view name) const {
  if (const auto found = places_.find(name); found != places_.end()) {
    return &tensors_[found->second];
  }
  const auto parameter = parameter_places_.find(name);
  return parameter == parameter_places_.end() ? nullptr : &parameters_[parameter->second];
}

bool Trace::knows(std::string_view name) const {
  return places_.contains(name) || model_parameters_.contains(name);
}

const TracedTensor& Trace::at(std::string_view name) const {
  if (const TracedTensor* found = find(name)) return *found;
  std::vector<std::string_view> names;
  for (const TracedTensor& tensor : tensors_) names.push_back(tensor.name);
  for (const TracedTensor& parameter : parameters_) names.push_back(parameter.name);
  throw Error(ErrorKind::bad_input, "trace", io::in_quotes(name),
              names.empty() ? std::string("there are no tensors")
                            : "there is no such tensor; the nearest is " +
                                  std::string(base::nearest(name, names)));
}

std::vector<const TracedTensor*> Trace::of_step(int step) const {
  constexpr int kMask = 12;
  std::vector<const TracedTensor*> found;
  for (const TracedTensor& tensor : tensors_) {
    if (!tensor.variant.empty()) continue;
    if (step != kMask) {
      if (tensor.step == step) found.push_back(&tensor);
    } else if (shows_mask(tensor)) {
      const auto [place, stage] = place_and_stage(tensor.name);
      const AttentionRun* run = reconstruction_->find(place);
      if (run != nullptr && run->causal) found.push_back(&tensor);
    }
  }
  return found;
}

Tensor Trace::values(std::string_view name) const {
  const TensorSelection selection = parse_tensor(*this, name);
  const TracedTensor& tensor = at(selection.name);
  if (const auto parameter = model_parameters_.find(tensor.name);
      tensor.operation == Operation::parameter) {
    return parameter->second->value().data();
  }
  const auto kept = values_.find(tensor.name);
  if (kept != values_.end()) {
    if (selection.head < 0) return kept->second;
    const int axis = tensor.head_axis();
    std::vector<int64_t> sizes(tensor.shape.sizes().begin(), tensor.shape.sizes().end());
    sizes.erase(sizes.begin() + axis);
    return kept->second.slice(axis, selection.head, 1).contiguous().reshaped(tensor::Shape(sizes));
  }
  const auto [place, stage] = place_and_stage(tensor.name);
  const AttentionRun& run = *reconstruction_->find(place);
  return selection.head < 0 ? attention_stage(*threads_, run, stage)
                            : attention_stage(*threads_, run, stage, selection.head);
}

double Trace::value(const TracedTensor& tensor, const std::vector<int64_t>& index) const {
  if (tensor.operation == Operation::parameter) {
    return number_at(model_parameters_.find(tensor.name)->second->value().data(), index);
  }
  const auto kept = values_.find(tensor.name);
  if (kept != values_.end()) return number_at(kept->second, index);
  const auto [place, stage] = place_and_stage(tensor.name);
  const bool weighted = tensor.operation == Operation::weigh;
  const Tensor& row =
      reconstruction_->row(*threads_, place, weighted ? "weights" : stage, index[1], index[2]);
  const double number = number_at(row, {index[0], 0, index[3]});
  if (!weighted || number == 0) return number;  // what hides behind the mask never leaks
  const AttentionRun& run = *reconstruction_->find(place);
  const int64_t kv_head = index[1] / (run.query.size(1) / run.key.size(1));
  const double value = number_at(run.value, {index[0], kv_head, index[3], index[4]});
  return static_cast<float>(number) * static_cast<float>(value);
}

std::vector<std::string> Trace::labels(Axis axis) const {
  switch (axis) {
    case Axis::token:
      return input_.tokens;
    case Axis::source_token:
      return input_.source_tokens;
    case Axis::vocabulary:
      return input_.vocabulary;
    default:
      return {};
  }
}

}  // namespace headlight::explain
