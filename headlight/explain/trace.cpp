// Trace: the list, and numbers that are kept or reconstructed.
#include "headlight/explain/trace.h"

#include <algorithm>
#include <utility>

#include "headlight/explain/cell.h"
#include "headlight/explain/tensor_index.h"

namespace headlight::explain {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::Tensor;

}  // namespace

Trace::Trace(base::ThreadPool& threads, Input input, const nn::Parameters& parameters)
    : threads_(&threads), input_(std::move(input)) {
  for (const nn::ParameterHandle& parameter : parameters) {
    model_parameters_[parameter->name()] = parameter;
  }
}

autograd::Recording& Trace::record(std::function<bool(std::string_view place)> keeps) {
  recording_ =
      std::make_shared<autograd::Recording>(autograd::RecordingOptions{.keeps = std::move(keeps)});
  return *recording_;
}

void Trace::use_parameter(const std::string& name) {
  const auto found = model_parameters_.find(name);
  if (found == model_parameters_.end() || parameter_places_.contains(name)) return;
  const tensor::Shape& shape = found->second->shape();
  parameter_places_[name] = parameters_.size();
  parameters_.push_back({.name = name,
                         .operation = std::string(kParameter),
                         .shape = shape,
                         .axes = std::vector<Axis>(static_cast<size_t>(shape.rank()), Axis::column),
                         .formula = "parameter",
                         .text = "parameter"});
}

void Trace::add_tensor(TracedTensor tensor) {
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
  tensors_.push_back(std::move(tensor));
}

void Trace::add(TracedTensor tensor, Tensor values) {
  values_[tensor.name] = std::move(values);
  add_tensor(std::move(tensor));
}

void Trace::add(TracedTensor tensor, std::shared_ptr<const LateValues> values) {
  late_[tensor.name] = std::move(values);
  add_tensor(std::move(tensor));
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
                            : "there is no such tensor" + base::nearest_hint(name, names));
}

Tensor Trace::values(std::string_view name) const {
  const TensorSelection selection = parse_tensor(*this, name);
  const TracedTensor& tensor = at(selection.name);
  if (tensor.is_parameter()) return model_parameters_.find(tensor.name)->second->value().data();
  if (const auto late = late_.find(tensor.name); late != late_.end()) {
    return late->second->values(*this, selection.head);
  }
  const Tensor& kept = values_.find(tensor.name)->second;
  if (selection.head < 0) return kept;
  const int axis = tensor.head_axis();
  std::vector<int64_t> sizes(tensor.shape.sizes().begin(), tensor.shape.sizes().end());
  sizes.erase(sizes.begin() + axis);
  return kept.slice(axis, selection.head, 1).contiguous().reshaped(tensor::Shape(sizes));
}

double Trace::value(const TracedTensor& tensor, const std::vector<int64_t>& index) const {
  if (tensor.is_parameter()) {
    return number_at(model_parameters_.find(tensor.name)->second->value().data(), index);
  }
  const auto late = late_.find(tensor.name);
  if (late != late_.end()) return late->second->value(*this, index);
  return number_at(values_.find(tensor.name)->second, index);
}

uint64_t Trace::bytes() const {
  std::map<const void*, uint64_t> blocks;
  const auto hold = [&](const Tensor& tensor) {
    if (!tensor.defined()) return;
    uint64_t& size = blocks[tensor.memory()];
    size = std::max<uint64_t>(size, tensor.bytes());
  };
  for (const auto& [name, values] : values_) hold(values);
  if (recording_ != nullptr) {
    for (int64_t i = 0; i < recording_->value_count(); ++i) hold(recording_->value(i).data());
  }
  for (const auto& [name, parameter] : model_parameters_) {
    blocks.erase(parameter->value().data().memory());
  }
  uint64_t sum = 0;
  for (const auto& [block, size] : blocks) sum += size;
  for (const std::string& word : input_.vocabulary) sum += sizeof(word) + word.size();
  return sum;
}

int64_t Trace::heads_lost_at(std::string_view place) const {
  const auto found = heads_lost_.find(place);
  return found == heads_lost_.end() ? 0 : found->second;
}

std::vector<std::string> Trace::labels(Axis axis) const {
  switch (axis) {
    case Axis::token:
      return input_.tokens;
    case Axis::source_token:
      return input_.source_tokens;
    case Axis::vocabulary:
      return input_.vocabulary;
    case Axis::label:
      return input_.classes ? input_.classes->labels : std::vector<std::string>();
    default:
      return {};
  }
}

}  // namespace headlight::explain
