// Which places have variants, and how variants are put together.
#include "headlight/explain/variants.h"

#include <algorithm>

#include "headlight/explain/row_statistics.h"
#include "headlight/explain/variant_builder.h"

namespace headlight::explain {
namespace {

using autograd::Value;
using tensor::Tensor;

struct Family {
  std::string place;
  const VariantFamily* family;
};

std::vector<Family> families_of(const Trace& trace) {
  std::vector<Family> found;
  for (const TracedTensor& tensor : trace.tensors()) {
    if (!tensor.variant.empty()) continue;
    for (const VariantFamily& family : operation_table().variants) {
      const std::string place = family.place(trace, tensor);
      if (!place.empty()) found.push_back({place, &family});
    }
  }
  return found;
}

std::vector<Variant> built(Trace& trace, const models::Model& model, const Family& family,
                           const std::set<std::string>& keys) {
  VariantBuilder builder(trace, model, family.place, keys);
  family.family->build(builder);
  return builder.take();
}

}  // namespace

std::vector<std::string> variant_places(const Trace& trace) {
  std::vector<std::string> places;
  for (const Family& family : families_of(trace)) places.push_back(family.place);
  return places;
}

std::vector<Variant> add_variants(Trace& trace, const models::Model& model,
                                  const std::string& place) {
  const std::vector<Family> families = families_of(trace);
  for (const Family& family : families) {
    if (family.place == place) return built(trace, model, family, {});
  }
  const std::vector<std::string> places = variant_places(trace);
  const std::vector<std::string_view> names(places.begin(), places.end());
  throw base::Error(base::ErrorKind::bad_input, "variants", io::in_quotes(place),
                    names.empty()
                        ? std::string("no place of the trace has any")
                        : "no place with variants is called so" + base::nearest_hint(place, names));
}

std::vector<Variant> add_variants(Trace& trace, const models::Model& model,
                                  const std::set<std::string>& keys) {
  std::vector<Variant> all;
  for (const Family& family : families_of(trace)) {
    for (Variant& variant : built(trace, model, family, keys)) all.push_back(std::move(variant));
  }
  return all;
}

const nn::TransformerBlock* VariantBuilder::block() const {
  const models::Parts parts = model_.parts();
  for (const nn::TransformerStack* layers : {parts.encoder, parts.decoder}) {
    if (layers == nullptr) continue;
    for (const nn::TransformerBlock& block : layers->blocks()) {
      if (place_.starts_with(block.options().place + ".")) return &block;
    }
  }
  return nullptr;
}

void VariantBuilder::own(const std::string& key, const std::vector<std::string>& tensors,
                         const std::string& formula) {
  if (!wants(key)) return;
  variants_.push_back({.key = key,
                       .place = place_,
                       .is_own = true,
                       .formula = formula_of(key, formula),
                       .tensors = tensors,
                       .result_of = tensors.back()});
}

bool VariantBuilder::begin(const std::string& key, const std::string& formula) {
  if (!wants(key)) return false;
  key_ = key;
  formula_ = formula_of(key, formula);
  renamed_.clear();
  names_.clear();
  return true;
}

TracedTensor VariantBuilder::again(const std::string& name) const {
  TracedTensor tensor = trace_.at(name);
  tensor.name = varied(name);
  tensor.variant = key_;
  for (Operand& operand : tensor.operands) {
    if (renamed_.contains(operand.name)) operand.name = varied(operand.name);
  }
  return tensor;
}

void VariantBuilder::add(TracedTensor tensor, Tensor values) {
  names_.push_back(tensor.name);
  renamed_.insert(tensor.name.substr(varied("").size()));
  if (trace_.find(tensor.name) != nullptr) return;
  tensor.shape = values.shape();
  trace_.add(std::move(tensor), std::move(values));
}

void VariantBuilder::record(const std::vector<std::string>& inputs, const Run& run) {
  record(inputs, run, {});
}

void VariantBuilder::record(const std::vector<std::string>& inputs, const Run& run,
                            const Put& put) {
  tensor::Arena arena;
  autograd::Recording recording;
  TraceBuilder builder(trace_, recording, key_);
  for (const nn::ParameterHandle& parameter : model_.parameters()) {
    if (parameter->defined()) builder.know(recording.know(parameter->value()), parameter->name());
  }
  std::vector<Value> values;
  for (const std::string& name : inputs) {
    values.push_back(Value::leaf(trace_.values(name)));
    builder.know(recording.know(values.back()), name);
  }
  autograd::Context context{.threads = trace_.threads(), .arena = arena, .observer = &recording};
  run(context, values);
  builder.list_names(&names_);
  if (put) {
    for (const RecordedStep& step : recording.steps()) put(builder, step);
  } else {
    builder.build();
  }
  for (const std::string& name : names_) renamed_.insert(name.substr(varied("").size()));
}

void VariantBuilder::finish(const std::string& result_of) {
  const Tensor result = trace_.values(names_.back());
  Tensor original = trace_.values(result_of);
  if (original.elements() != result.elements()) {  // one row stands for all
    original = original.slice(1, original.size(1) - 1, 1).contiguous();
  }
  variants_.push_back({.key = key_,
                       .place = place_,
                       .formula = formula_,
                       .tensors = names_,
                       .result_of = result_of,
                       .largest_difference = largest_difference(result, original)});
}

}  // namespace headlight::explain
