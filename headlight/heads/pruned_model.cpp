// The rows and columns of the heads that stay, gathered into a smaller model.
#include "headlight/heads/pruned_model.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace headlight::heads {
namespace {

using nn::HeadNumbers;
using nn::MultiHeadAttention;
using nn::Parameter;
using tensor::DType;
using tensor::Tensor;

constexpr const char* kPruning = "prune heads";

struct Range {
  int64_t begin = 0;
  int64_t count = 0;
};
using Ranges = std::vector<Range>;

// The positions in `ranges` of an axis, one after the other, of a contiguous tensor.
Tensor gather(const Tensor& from, int axis, const Ranges& ranges) {
  int64_t outer = 1;
  int64_t inner = 1;
  for (int i = 0; i < from.rank(); ++i) {
    if (i < axis) outer *= from.size(i);
    if (i > axis) inner *= from.size(i);
  }
  int64_t kept = 0;
  for (const Range& range : ranges) kept += range.count;
  Tensor result = Tensor::uninitialized(DType::f32, from.shape().with(axis, kept));
  float* to = result.mutable_data<float>();
  for (int64_t i = 0; i < outer; ++i) {
    for (const Range& range : ranges) {
      std::copy_n(from.data<float>() + (i * from.size(axis) + range.begin) * inner,
                  range.count * inner, to);
      to += range.count * inner;
    }
  }
  return result;
}

Tensor copied(const Tensor& from) { return gather(from, 0, {{0, from.size(0)}}); }

// Where these heads stand among those of `whole`.
HeadNumbers places_in(const HeadNumbers& whole, const HeadNumbers& kept) {
  HeadNumbers places;
  for (const int64_t head : kept) {
    places.push_back(std::ranges::lower_bound(whole, head) - whole.begin());
  }
  return places;
}

void add_heads(Ranges& ranges, int64_t begin, const HeadNumbers& places, int64_t width) {
  for (const int64_t place : places) ranges.push_back({begin + place * width, width});
}

// The heads of `smaller`, as places among those of `whole`.
struct Kept {
  HeadNumbers heads;
  HeadNumbers kv_heads;
};

// What stays of the one weight or bias in which queries, keys and values of heads lie in turns.
std::optional<Ranges> kept_turns(const Parameter& parameter, const MultiHeadAttention& whole,
                                 const Kept& kept) {
  const nn::Linear::Part& part = whole.input_layers().front().part();
  if (part.weight.get() != &parameter && part.bias.get() != &parameter) return std::nullopt;
  Ranges ranges;
  add_heads(ranges, 0, kept.heads, 3 * whole.options().head_dim);
  return ranges;
}

// What stays of a projection's weight or bias, whose outputs are heads; several projections may lie
// in it. Nothing for other parameters.
std::optional<Ranges> kept_outputs(const Parameter& parameter, const MultiHeadAttention& whole,
                                   const Kept& kept) {
  if (whole.options().names.interleaved) return kept_turns(parameter, whole, kept);
  std::optional<Ranges> ranges;
  const auto& projections = whole.input_layers();
  for (size_t i = 0; i < projections.size(); ++i) {
    const nn::Linear::Part& part = projections[i].part();
    if (part.weight.get() != &parameter && part.bias.get() != &parameter) continue;
    if (!ranges) ranges.emplace();
    const int64_t begin = part.weight.get() == &parameter ? part.weight_begin : part.bias_begin;
    const bool is_query = i == 0;
    const bool is_value = i == 2;
    // A norm over whole rows depends on what goes, which is projected on for its sake.
    if (!is_value && !kept.heads.empty() && whole.normalizes_whole_rows(is_query)) {
      ranges->push_back({begin, part.outputs});
    } else {
      add_heads(*ranges, begin, is_query ? kept.heads : kept.kv_heads,
                is_value ? whole.options().value_head_dim : whole.options().head_dim);
    }
  }
  return ranges;
}

// The numbers of one parameter for the heads that stay.
Tensor kept_numbers(const Parameter& parameter, const MultiHeadAttention& whole, const Kept& kept) {
  const Tensor& numbers = parameter.value().data();
  const bool out_in = whole.options().names.layout == nn::WeightLayout::out_in;
  if (parameter.name() == whole.options().names.output_weight) {
    Ranges merged;
    add_heads(merged, 0, kept.heads, whole.options().value_head_dim);
    return gather(numbers, out_in ? 1 : 0, merged);
  }
  const std::optional<Ranges> ranges = kept_outputs(parameter, whole, kept);
  if (!ranges) return copied(numbers);
  return gather(numbers, out_in || numbers.rank() == 1 ? 0 : 1, *ranges);
}

Tensor kept_gates(const Tensor& gates, const Kept& kept) {
  Ranges ranges;
  add_heads(ranges, 0, kept.heads, 1);
  return gather(gates.contiguous(), gates.rank() - 1, ranges);
}

std::map<std::string, const Parameter*> by_name(const nn::Parameters& parameters) {
  std::map<std::string, const Parameter*> all;
  for (const nn::ParameterHandle& one : parameters) all[one->name()] = one.get();
  return all;
}

// The heads that stay where some go.
models::HeadsLeft heads_left_without(const models::Model& model,
                                     const std::vector<HeadName>& removed) {
  models::HeadsLeft left = models::heads_left_of(model);
  for (const HeadName& name : removed) {
    const nn::HeadSet& heads = find_head(model, name, kPruning).attention->heads();
    std::erase(left.emplace(name.place, heads.numbers).first->second, name.head);
  }
  const auto all = heads_of(model).size();
  if (std::set(removed.begin(), removed.end()).size() == all) {
    base::refuse(kPruning, model.type(),
                 "all " + std::to_string(all) + " heads would go, at least one must stay");
  }
  return left;
}

// A model of the same configuration with these heads, and this one's numbers.
std::unique_ptr<models::Model> copy_with(const models::Model& model,
                                         const models::HeadsLeft& left) {
  std::unique_ptr<models::Model> copy = model.with_heads(left);
  const std::vector<const MultiHeadAttention*> from = models::attentions_of(model);
  const std::vector<MultiHeadAttention*> to = copy->attentions();
  for (size_t i = 0; i < from.size(); ++i) copy_kept_heads(*from[i], *to[i]);
  // What is not attention's is the same in both; attention's has been copied.
  std::set<std::string> done;
  for (const MultiHeadAttention* attention : to) {
    for (const nn::ParameterHandle& one : attention->parameters()) done.insert(one->name());
  }
  const auto originals = by_name(model.parameters());
  for (const nn::ParameterHandle& parameter : copy->parameters()) {
    if (done.contains(parameter->name())) continue;
    parameter->assign(copied(originals.at(parameter->name())->value().data()));
  }
  return copy;
}

// What the output layer has for one head becomes 0.
void silence(const MultiHeadAttention& attention, int64_t place) {
  const nn::Linear& output = *attention.output_layer();
  Tensor weight = output.part().weight->change();
  const int64_t width = attention.options().value_head_dim;
  const bool out_in = output.part().layout == nn::WeightLayout::out_in;
  for (int64_t row = 0; row < weight.size(0); ++row) {
    for (int64_t column = 0; column < weight.size(1); ++column) {
      if ((out_in ? column : row) / width != place) continue;
      weight.mutable_data<float>()[row * weight.size(1) + column] = 0;
    }
  }
}

}  // namespace

void copy_kept_heads(const MultiHeadAttention& whole, MultiHeadAttention& smaller) {
  const Kept kept{places_in(whole.heads().numbers, smaller.heads().numbers),
                  places_in(whole.heads().kv_numbers, smaller.heads().kv_numbers)};
  const auto originals = by_name(whole.parameters());
  for (const nn::ParameterHandle& parameter : smaller.parameters()) {
    const Parameter* original = originals.at(parameter->name());
    if (original == parameter.get()) continue;  // a table that both share
    parameter->assign(kept_numbers(*original, whole, kept));
  }
  if (const nn::Value& gates = whole.gates(); gates.defined()) {
    smaller.set_gates(nn::Value::leaf(kept_gates(gates.data(), kept), gates.requires_grad()));
  }
}

std::unique_ptr<models::Model> pruned_model(const models::Model& model,
                                            const std::vector<HeadName>& removed) {
  return copy_with(model, heads_left_without(model, removed));
}

std::unique_ptr<models::Model> silenced_model(const models::Model& model,
                                              const std::vector<HeadName>& removed) {
  heads_left_without(model, removed);  // what it refuses
  std::unique_ptr<models::Model> copy = copy_with(model, models::heads_left_of(model));
  for (const HeadName& name : removed) {
    const HeadInModel found = find_head(*copy, name, kPruning);
    silence(*found.attention, found.place);
  }
  return copy;
}

}  // namespace headlight::heads
