// Which places have variants; how variants are put together; those of scale, positions and
// prediction.
#include "headlight/explain/variants.h"

#include <algorithm>
#include <cmath>

#include "headlight/explain/row_statistics.h"
#include "headlight/explain/variant_builder.h"

namespace headlight::explain {
namespace {

using autograd::Value;
using tensor::Tensor;

std::string without(const std::string& name, std::string_view ending) {
  return name.substr(0, name.size() - ending.size());
}

// Sines and cosines whose index is the column: a table twice as wide with the base squared has
// them in columns 2c and 2c + 1.
Tensor positions_by_column(const TracedTensor& positions) {
  const int64_t rows = positions.shape[1];
  const int64_t width = positions.shape[2];
  const double base = positions.number("base");
  const Tensor both = Tensor::uninitialized(tensor::DType::f32, {rows, 2 * width});
  kernels::sinusoids(
      {.first = static_cast<int64_t>(positions.number("start")), .base = base * base},
      both.matrix());
  const Tensor result = Tensor::uninitialized(tensor::DType::f32, positions.shape);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < width; ++c) {
      result.data<float>()[r * width + c] = both.data<float>()[r * 2 * width + 2 * c + c % 2];
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> variant_places(const Trace& trace) {
  std::vector<std::string> places;
  for (const TracedTensor& tensor : trace.tensors()) {
    if (!tensor.variant.empty()) continue;
    const std::string& name = tensor.name;
    if (tensor.operation == Operation::sinusoid || name == "logits") places.push_back(name);
    if (tensor.operation == Operation::scores) places.push_back(without(name, ".scores"));
    if (tensor.operation == Operation::scale_shift) places.push_back(without(name, ".output"));
    if (name.ends_with(".ffn.output")) places.push_back(without(name, ".output"));
  }
  return places;
}

std::vector<Variant> add_variants(Trace& trace, const models::Model& model,
                                  const std::string& place) {
  const std::vector<std::string> places = variant_places(trace);
  if (std::find(places.begin(), places.end(), place) == places.end()) {
    const std::vector<std::string_view> names(places.begin(), places.end());
    throw base::Error(base::ErrorKind::bad_input, "variants", io::in_quotes(place),
                      names.empty() ? std::string("no place of the trace has any")
                                    : "no place with variants is called so; the nearest is " +
                                          std::string(base::nearest(place, names)));
  }
  return VariantBuilder(trace, model, place).build();
}

std::vector<Variant> add_variants(Trace& trace, const models::Model& model,
                                  const std::set<std::string>& keys) {
  std::vector<Variant> all;
  for (const std::string& place : variant_places(trace)) {
    for (Variant& variant : VariantBuilder(trace, model, place, keys).build()) {
      all.push_back(std::move(variant));
    }
  }
  return all;
}

std::vector<Variant> VariantBuilder::build() {
  if (trace_.find(place_ + ".scores") != nullptr) {
    build_scales();
  } else if (place_ == "logits") {
    build_prediction();
  } else if (trace_.find(place_) != nullptr) {
    build_positions();
  } else if (trace_.find(place_ + ".normalized") != nullptr) {
    build_norms();
  } else {
    build_feed_forward(*block());
  }
  return std::move(variants_);
}

int VariantBuilder::step() const {
  for (const char* result : {"", ".scores", ".output"}) {
    if (const TracedTensor* tensor = trace_.find(place_ + result)) return tensor->step;
  }
  return 0;
}

const nn::TransformerBlock* VariantBuilder::block() const {
  const models::Parts parts = model_.parts();
  for (const models::Parts::Stack& stack : {parts.encoder, parts.decoder}) {
    if (stack.layers == nullptr) continue;
    for (const nn::TransformerBlock& block : stack.layers->blocks()) {
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
                       .step = step(),
                       .is_own = true,
                       .formula = formula_of(key, formula),
                       .tensors = tensors,
                       .result_of = tensors.back()});
}

void VariantBuilder::begin(const std::string& key, const std::string& formula) {
  key_ = key;
  formula_ = formula_of(key, formula);
  renamed_.clear();
  names_.clear();
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
  if (values.defined()) tensor.shape = values.shape();
  trace_.add(std::move(tensor), std::move(values));
}

void VariantBuilder::finish(const std::string& result_of) {
  const Tensor result = trace_.values(names_.back());
  Tensor original = trace_.values(result_of);
  if (original.elements() != result.elements()) {  // one row stands for all
    original = original.slice(1, original.size(1) - 1, 1).contiguous();
  }
  variants_.push_back({.key = key_,
                       .place = place_,
                       .step = step(),
                       .formula = formula_,
                       .tensors = names_,
                       .result_of = result_of,
                       .largest_difference = largest_difference(result, original)});
}

void VariantBuilder::build_scales() {
  const std::vector<std::string> stages = {".scaled_scores", ".masked_scores", ".row_max",
                                           ".row_sum",       ".weights",       ".weighted_values",
                                           ".head_output"};
  std::vector<std::string> tensors;
  for (const std::string& stage : stages) tensors.push_back(place_ + stage);
  own("scale.sqrt_head_width", tensors, "attention.scale");

  const std::string& output = place_ + ".output";
  const auto width = static_cast<float>(trace_.at(output).shape[-1]);
  const bool causal = trace_.at(place_ + ".masked_scores").number("causal") != 0;
  const std::pair<const char*, float> scales[] = {
      {"scale.sqrt_width", 1 / std::sqrt(width)}, {"scale.width", 1 / width}, {"scale.none", 1.0F}};
  for (const auto& [key, scale] : scales) {
    if (!wants(key)) continue;
    begin(key, "attention." + std::string(key));
    trace_.add_attention(varied(place_), place_, scale, causal);
    for (const std::string& stage : stages) {
      TracedTensor tensor = again(place_ + stage);
      if (stage == stages.front()) {
        tensor.attributes = {{"factor", static_cast<double>(scale)}};
        tensor.formula = formula_;
      }
      const bool kept = stage == ".row_max" || stage == ".row_sum" || stage == ".head_output";
      add(std::move(tensor), kept ? trace_.stage(varied(place_), stage.substr(1)) : Tensor());
    }
    finish(place_ + stages.back());
  }
}

void VariantBuilder::build_positions() {
  const TracedTensor& positions = trace_.at(place_);
  const std::string sum = without(place_, ".positions") + ".sum";
  own("position_index.pair", {place_, sum});
  if (positions.word("order") != "interleaved" || positions.word("divisor") != "half") return;
  if (!wants("position_index.column")) return;
  begin("position_index.column");
  TracedTensor by_column = again(place_);
  for (io::Json::Member& attribute : by_column.attributes) {
    if (attribute.first == "index") attribute.second = "column";
  }
  by_column.formula = "positions.sinusoid.column";
  const Tensor values = positions_by_column(by_column);
  add(std::move(by_column), values);
  tensor::Arena arena;
  autograd::Context context{.threads = trace_.threads(), .arena = arena};
  const std::string& embedding = *trace_.at(sum).operand("left");
  add(again(sum),
      autograd::add(context, Value::leaf(trace_.values(embedding)), Value::leaf(values)).data());
  finish(sum);
}

void VariantBuilder::build_prediction() {
  const std::vector<std::string> names = {"logits", "logits.row_max", "logits.row_sum",
                                          "probabilities"};
  const nn::Linear::Part& part = model_.parts().output->linear().part();
  const std::string bias = part.bias ? ".bias" : "";
  own("prediction.per_position", names, "prediction.logits" + bias);
  if (!wants("prediction.flattened")) return;
  begin("prediction.flattened", "prediction.logits.flattened" + bias);
  const Tensor rows = trace_.values(*trace_.at("logits").operand("input"));
  const Tensor logits = Tensor::zeros(tensor::DType::f32, {1, part.outputs});
  tensor::Arena arena;
  autograd::Context context{.threads = trace_.threads(), .arena = arena};
  for (int64_t t = 0; t < rows.size(1); ++t) {
    const bool last = t + 1 == rows.size(1);
    kernels::matmul(
        context.execution(), rows.slice(1, t, 1).matrix(),
        autograd::forward_operand(part.weight->value().data(), part.layout), logits.matrix(),
        {.accumulate = true,
         .bias = last && part.bias ? part.bias->value().data().data<float>() : nullptr});
  }
  const RowStatistics statistics = row_statistics(logits);
  const Tensor values[] = {logits, statistics.maximum, statistics.sum,
                           autograd::softmax(context, Value::leaf(logits)).data()};
  for (size_t i = 0; i < names.size(); ++i) {
    TracedTensor tensor = again(names[i]);
    tensor.axes.erase(tensor.axes.begin() + 1);  // all tokens at once
    if (i == 0) {
      tensor.attributes.emplace_back("repeat", rows.size(1));
      tensor.formula = formula_;
    }
    add(std::move(tensor), values[i]);
  }
  finish("probabilities");
}

}  // namespace headlight::explain
