// The five layouts by name and shape, and the widths that follow from the shapes.
#include "headlight/nn/attention_layout.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace headlight::nn {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::Shape;

constexpr AttentionLayout kLayouts[] = {AttentionLayout::fused, AttentionLayout::gpt2,
                                        AttentionLayout::d2l, AttentionLayout::named,
                                        AttentionLayout::torch};

[[noreturn]] void refuse_layout(const std::string& where, const std::string& why) {
  throw Error(ErrorKind::bad_input, "load attention", where, why);
}

std::string text(int64_t number) { return std::to_string(number); }

// Layers "<stem>.weight" and "<stem>.bias".
AttentionNames stems(const std::array<const char*, 3>& inputs, const std::string& output) {
  AttentionNames names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names.weights[i] = std::string(inputs[i]) + ".weight";
    names.biases[i] = std::string(inputs[i]) + ".bias";
  }
  names.output_weight = output + ".weight";
  names.output_bias = output + ".bias";
  return names;
}

AttentionNames torch_names(bool one_width) {
  AttentionNames names = stems({"", "", ""}, "out_proj");
  names.weights = {"in_proj_weight", "in_proj_weight", "in_proj_weight"};
  if (!one_width) names.weights = {"q_proj_weight", "k_proj_weight", "v_proj_weight"};
  names.biases = {"in_proj_bias", "in_proj_bias", "in_proj_bias"};
  return names;
}

// Where a whole model is given instead of one module: the prefix of the first there is.
std::string prefix_hint(const StoredState& state) {
  constexpr std::string_view kNames[] = {"c_attn.weight", "W_q.weight", "W_query.weight",
                                         "in_proj_weight", "q_proj_weight"};
  for (const auto& entry : state) {
    for (const std::string_view name : kNames) {
      if (!entry.first.ends_with("." + std::string(name))) continue;
      return "; under the prefix " + entry.first.substr(0, entry.first.size() - name.size() - 1) +
             " there is";
    }
  }
  return "";
}

// Of the square weight of a fused projection neither side can be told from the other.
AttentionLayout fused_or_gpt2(const StoredState& state, const std::string& prefix) {
  const std::string name = prefix + "c_attn.weight";
  const Shape& weight = state.at(name).shape;
  if (weight.rank() != 2) {
    refuse_layout(name, "shape is " + weight.text() + ", a matrix is needed");
  }
  const int64_t rows = weight[0];
  const int64_t columns = weight[1];
  if (rows == columns) {
    refuse_layout(name,
                  "shape " + weight.text() +
                      " is square: say whether the layout is fused (out, in) or gpt2 (in, out)");
  }
  const auto bias = state.find(prefix + "c_attn.bias");
  const bool has_bias = bias != state.end() && bias->second.shape.rank() == 1;
  if (has_bias && bias->second.shape[0] == rows) return AttentionLayout::fused;
  if (has_bias && bias->second.shape[0] == columns) return AttentionLayout::gpt2;
  return rows > columns ? AttentionLayout::fused : AttentionLayout::gpt2;
}

// The module's own tensors in a state, and the widths they imply.
class StoredAttention {
 public:
  StoredAttention(const StoredState& state, const AttentionLoadOptions& options)
      : state_(state), prefix_(name_prefix(options.prefix)) {
    const AttentionLayout layout = options.layout ? *options.layout : detect_layout(state, prefix_);
    names_ = names_of(layout, has("in_proj_weight")).with_prefix(prefix_);
    if (layout == AttentionLayout::torch && (has("bias_k") || has("bias_v"))) {
      refuse_layout(prefix_ + "bias_k", "extra key and value rows (add_bias_kv) are not supported");
    }
    for (std::string& bias : names_.biases) forget_if_absent(bias);
    forget_if_absent(names_.output_weight);
    forget_if_absent(names_.output_bias);
  }

  MultiHeadAttentionOptions module_options(const AttentionLoadOptions& options) const {
    MultiHeadAttentionOptions module{
        .heads = options.heads,
        .kv_heads = options.kv_heads ? options.kv_heads : options.heads,
        .weight_dropout = options.weight_dropout,
        .output_dropout = options.output_dropout,
        .names = names_,
        .place = options.place};
    if (module.heads < 1 || module.kv_heads < 1) {
      refuse_layout(prefix_, text(module.heads) + " heads and " + text(module.kv_heads) +
                                 " key/value heads, at least 1 is needed");
    }
    module.query_width = inputs_of(names_.weights[0]);
    module.key_width = inputs_of(names_.weights[1]);
    module.value_width = inputs_of(names_.weights[2]);
    if (names_.weights[0] == names_.weights[2]) {
      set_fused_widths(module);
    } else {
      module.head_dim = head_width(names_.weights[0], module.heads);
      module.value_head_dim = head_width(names_.weights[2], module.kv_heads);
    }
    module.out_dim = names_.output_weight.empty() ? module.heads * module.value_head_dim
                                                  : outputs_of(names_.output_weight);
    return module;
  }

 private:
  bool has(const std::string& name) const { return state_.contains(prefix_ + name); }
  void forget_if_absent(std::string& name) const {
    if (!state_.contains(name)) name.clear();
  }

  const Shape& weight(const std::string& name) const {
    const auto found = state_.find(name);
    if (found == state_.end()) refuse_layout(name, "is missing");
    if (found->second.shape.rank() == 2) return found->second.shape;
    refuse_layout(name, "shape is " + found->second.shape.text() + ", a matrix is needed");
  }
  int64_t outputs_of(const std::string& name) const {
    return weight(name)[names_.layout == WeightLayout::out_in ? 0 : 1];
  }
  int64_t inputs_of(const std::string& name) const {
    return weight(name)[names_.layout == WeightLayout::out_in ? 1 : 0];
  }

  int64_t head_width(const std::string& name, int64_t heads) const {
    const int64_t outputs = outputs_of(name);
    if (outputs % heads != 0) {
      refuse_layout(name,
                    "width " + text(outputs) + " cannot be split into " + text(heads) + " heads");
    }
    return outputs / heads;
  }

  // One weight holds H query heads, then Hkv key heads and Hkv value heads, all of one width.
  void set_fused_widths(MultiHeadAttentionOptions& module) const {
    const std::string& name = names_.weights[0];
    const int64_t outputs = outputs_of(name);
    // Heads come from outside: more than there are outputs must not reach the sum.
    const bool countable = module.heads <= outputs && module.kv_heads <= outputs;
    const int64_t parts = countable ? module.heads + 2 * module.kv_heads : 0;
    if (parts == 0 || outputs % parts != 0) {
      const bool thirds = module.kv_heads == module.heads && outputs % 3 == 0;
      refuse_layout(name, thirds ? "width " + text(outputs / 3) + " cannot be split into " +
                                       text(module.heads) + " heads"
                                 : text(outputs) + " outputs cannot be split into " +
                                       text(module.heads) + " query, " + text(module.kv_heads) +
                                       " key and " + text(module.kv_heads) + " value heads");
    }
    module.head_dim = outputs / parts;
    module.value_head_dim = module.head_dim;
  }

  const StoredState& state_;
  std::string prefix_;
  AttentionNames names_;
};

}  // namespace

std::span<const AttentionLayout> attention_layouts() { return kLayouts; }

const char* name_of(AttentionLayout layout) {
  constexpr const char* kNames[] = {"fused", "gpt2", "d2l", "named", "torch"};
  return kNames[static_cast<size_t>(layout)];
}

std::optional<AttentionLayout> attention_layout(std::string_view name) {
  const auto* found = std::find_if(std::begin(kLayouts), std::end(kLayouts),
                                   [name](AttentionLayout one) { return name == name_of(one); });
  return found == std::end(kLayouts) ? std::nullopt : std::optional(*found);
}

AttentionNames names_of(AttentionLayout layout, bool one_width) {
  AttentionNames names = fused_names();
  switch (layout) {
    case AttentionLayout::fused:
      break;
    case AttentionLayout::gpt2:
      names.layout = WeightLayout::in_out;
      break;
    case AttentionLayout::d2l:
      return stems({"W_q", "W_k", "W_v"}, "W_o");
    case AttentionLayout::named:
      return stems({"W_query", "W_key", "W_value"}, "out_proj");
    case AttentionLayout::torch:
      return torch_names(one_width);
  }
  return names;
}

AttentionLayout detect_layout(const StoredState& state, const std::string& prefix) {
  const std::string whole_prefix = name_prefix(prefix);
  const auto has = [&](const char* name) { return state.contains(whole_prefix + name); };
  std::vector<AttentionLayout> found;
  if (has("c_attn.weight")) found.push_back(AttentionLayout::fused);
  if (has("W_q.weight")) found.push_back(AttentionLayout::d2l);
  if (has("W_query.weight")) found.push_back(AttentionLayout::named);
  if (has("in_proj_weight") || has("q_proj_weight")) found.push_back(AttentionLayout::torch);
  if (found.empty()) {
    refuse_layout(whole_prefix,
                  "none of c_attn.weight, W_q.weight, W_query.weight, in_proj_weight and "
                  "q_proj_weight is there" +
                      prefix_hint(state));
  }
  if (found.size() > 1) {
    refuse_layout(whole_prefix, std::string("the names fit the layouts ") + name_of(found[0]) +
                                    " and " + name_of(found[1]) + ": say which it is");
  }
  return found[0] == AttentionLayout::fused ? fused_or_gpt2(state, whole_prefix) : found[0];
}

AttentionLayout detect_layout(const StateDict& state, const std::string& prefix) {
  return detect_layout(stored(state), prefix);
}

MultiHeadAttention load_attention(const StoredState& state, const AttentionLoadOptions& options) {
  MultiHeadAttention attention(StoredAttention(state, options).module_options(options));
  load_state(attention.parameters(), state, beside_module(options.prefix), options.where);
  return attention;
}

MultiHeadAttention load_attention(const StateDict& state, const AttentionLoadOptions& options) {
  return load_attention(stored(state), options);
}

}  // namespace headlight::nn
