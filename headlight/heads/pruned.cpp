// The rows and columns of the heads that stay, gathered into a smaller module.
#include "headlight/heads/pruned.h"

#include <algorithm>
#include <string>

namespace headlight::heads {
namespace {

using base::Error;
using base::ErrorKind;
using nn::Linear;
using nn::MultiHeadAttention;
using nn::MultiHeadAttentionOptions;
using nn::Parameter;
using nn::PositionBiasOptions;
using nn::ProjectedHeads;
using tensor::DType;
using tensor::Tensor;

struct Range {
  int64_t begin = 0;
  int64_t count = 0;
};
using Ranges = std::vector<Range>;

[[noreturn]] void refuse_pruning(const std::string& place, const std::string& why) {
  throw Error(ErrorKind::bad_input, "prune heads", place, why);
}

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

void add_heads(Ranges& ranges, int64_t begin, const std::vector<int64_t>& heads, int64_t width) {
  for (const int64_t head : heads) ranges.push_back({begin + head * width, width});
}

struct Kept {
  std::vector<int64_t> heads;
  std::vector<int64_t> kv_heads;
};

Kept kept_heads(const MultiHeadAttentionOptions& options, const std::vector<int64_t>& removed) {
  for (const int64_t head : removed) {
    if (head < 0 || head >= options.heads) {
      refuse_pruning(options.place, "there is no head " + std::to_string(head) + " among " +
                                        std::to_string(options.heads));
    }
  }
  Kept kept;
  std::vector<int64_t> per_group(static_cast<size_t>(options.kv_heads));
  const int64_t group = options.heads / options.kv_heads;
  for (int64_t head = 0; head < options.heads; ++head) {
    if (std::find(removed.begin(), removed.end(), head) != removed.end()) continue;
    kept.heads.push_back(head);
    if (per_group[static_cast<size_t>(head / group)]++ == 0) kept.kv_heads.push_back(head / group);
  }
  if (kept.heads.empty()) {
    refuse_pruning(options.place, "all " + std::to_string(options.heads) +
                                      " heads would go, at least one must stay");
  }
  const auto groups = static_cast<int64_t>(kept.kv_heads.size());
  const int64_t left = static_cast<int64_t>(kept.heads.size()) / groups;
  for (const int64_t kv_head : kept.kv_heads) {
    const int64_t here = per_group[static_cast<size_t>(kv_head)];
    if (here != left || left * groups != static_cast<int64_t>(kept.heads.size())) {
      refuse_pruning(options.place,
                     "key/value head " + std::to_string(kv_head) + " would be left with " +
                         std::to_string(here) + " of " + std::to_string(group) +
                         " query heads, others with another number; remove whole groups or "
                         "as many from each");
    }
  }
  return kept;
}

// Then the norm of what stays depends on what goes, which is projected on for its sake.
bool normalizes_whole_rows(const MultiHeadAttentionOptions& options, bool is_query) {
  const std::string& name = is_query ? options.names.query_norm : options.names.key_norm;
  return !name.empty() && !options.query_key_norm.each_head;
}

ProjectedHeads kept_projected(const ProjectedHeads& whole, const std::vector<int64_t>& kept) {
  ProjectedHeads projected{.count = whole.count, .attending = kept};
  if (whole.attending.empty()) return projected;
  for (int64_t& head : projected.attending) head = whole.attending[static_cast<size_t>(head)];
  return projected;
}

// Slopes of the heads that stay. A shared table stays as it is, one of our own is copied; which of
// its columns are read is told.
PositionBiasOptions kept_position_bias(const MultiHeadAttentionOptions& whole, const Kept& kept) {
  PositionBiasOptions bias = whole.position_bias;
  const auto at = [&kept](size_t i) { return static_cast<size_t>(kept.heads[i]); };
  if (!bias.slopes.empty()) {
    bias.slopes.clear();
    for (size_t i = 0; i < kept.heads.size(); ++i) {
      bias.slopes.push_back(whole.position_bias.slopes[at(i)]);
    }
  }
  if (!bias.table) return bias;
  bias.columns = kept.heads;
  for (size_t i = 0; i < kept.heads.size() && !whole.position_bias.columns.empty(); ++i) {
    bias.columns[i] = whole.position_bias.columns[at(i)];
  }
  if (whole.names.position_bias.empty()) return bias;
  const Tensor& numbers = bias.table->value().data();
  bias.table =
      std::make_shared<Parameter>(bias.table->name(), gather(numbers, 0, {{0, numbers.size(0)}}));
  return bias;
}

MultiHeadAttentionOptions kept_options(const MultiHeadAttentionOptions& whole, const Kept& kept) {
  MultiHeadAttentionOptions options = whole;
  options.heads = static_cast<int64_t>(kept.heads.size());
  options.kv_heads = static_cast<int64_t>(kept.kv_heads.size());
  options.position_bias = kept_position_bias(whole, kept);
  options.projected_queries = {};
  options.projected_keys = {};
  if (normalizes_whole_rows(whole, true)) {
    options.projected_queries = kept_projected(whole.projected_queries, kept.heads);
  }
  if (normalizes_whole_rows(whole, false)) {
    options.projected_keys = kept_projected(whole.projected_keys, kept.kv_heads);
  }
  return options;
}

// What stays of a projection's weight or bias, whose outputs are heads; several projections may lie
// in it. Nothing for other parameters.
Ranges kept_outputs(const Parameter& parameter, const std::vector<Linear>& projections,
                    const Kept& kept, const MultiHeadAttentionOptions& options) {
  Ranges ranges;
  for (size_t i = 0; i < projections.size(); ++i) {
    const Linear::Part& part = projections[i].part();
    if (part.weight.get() != &parameter && part.bias.get() != &parameter) continue;
    const int64_t begin = part.weight.get() == &parameter ? part.weight_begin : part.bias_begin;
    const bool is_query = i == 0;
    const bool is_value = i == 2;
    if (!is_value && normalizes_whole_rows(options, is_query)) {
      ranges.push_back({begin, part.outputs});
    } else {
      add_heads(ranges, begin, is_query ? kept.heads : kept.kv_heads,
                is_value ? options.value_head_dim : options.head_dim);
    }
  }
  return ranges;
}

}  // namespace

MultiHeadAttention pruned(const MultiHeadAttention& attention, const std::vector<int64_t>& heads) {
  const MultiHeadAttentionOptions& options = attention.options();
  if (attention.output_layer() == nullptr) {
    refuse_pruning(options.place,
                   "without an output projection the heads themselves are the output");
  }
  const Kept kept = kept_heads(options, heads);
  MultiHeadAttention smaller(kept_options(options, kept));

  Ranges merged;
  add_heads(merged, 0, kept.heads, options.value_head_dim);
  const bool out_in = options.names.layout == nn::WeightLayout::out_in;
  for (size_t i = 0; i < attention.parameters().size(); ++i) {
    const Parameter& whole = *attention.parameters()[i];
    if (&whole == options.position_bias.table.get()) continue;  // it has its numbers
    const Tensor& numbers = whole.value().data();
    int axis = 0;
    Ranges ranges = kept_outputs(whole, attention.input_layers(), kept, options);
    if (whole.name() == options.names.output_weight) {
      axis = out_in ? 1 : 0;
      ranges = merged;
    } else if (ranges.empty()) {
      ranges = {{0, numbers.size(0)}};
    } else {
      axis = out_in || numbers.rank() == 1 ? 0 : 1;
    }
    smaller.parameters()[i]->assign(gather(numbers, axis, ranges));
  }
  if (const nn::Value& gates = attention.gates(); gates.defined()) {
    Ranges ranges;
    add_heads(ranges, 0, kept.heads, 1);
    smaller.set_gates(
        nn::Value::leaf(gather(gates.data(), gates.rank() - 1, ranges), gates.requires_grad()));
  }
  return smaller;
}

}  // namespace headlight::heads
