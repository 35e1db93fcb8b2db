// Numbers of layers that have not been made.
#include "headlight/models/parameters.h"

namespace headlight::models {
namespace {

using nn::TransformerBlockOptions;

// Heads and their widths, with the defaults filled in.
struct LayerHeads {
  int64_t heads = 0;  // that are left
  int64_t kv_heads = 0;
  int64_t query_width = 0;  // of all projected queries
  int64_t key_width = 0;
  int64_t value_width = 0;
  int64_t merged = 0;
  int64_t head_dim = 0;
};

LayerHeads layer_heads(const TransformerBlockOptions& layer,
                       const std::optional<nn::HeadNumbers>& left,
                       const nn::AttentionNames& names) {
  const int64_t kv_heads = layer.kv_heads == 0 ? layer.heads : layer.kv_heads;
  const nn::HeadSet set = nn::head_set(layer.place, layer.heads, kv_heads, left);
  const int64_t key = layer.head_dim == 0 ? layer.width / layer.heads : layer.head_dim;
  const int64_t value = layer.value_head_dim == 0 ? key : layer.value_head_dim;
  const bool whole_rows = !layer.query_key_norm.each_head && set.count() > 0;
  const auto projected = [&](const std::string& norm, int64_t all, int64_t kept) {
    return key * (whole_rows && !norm.empty() ? all : kept);
  };
  return {.heads = set.count(),
          .kv_heads = set.kv_count(),
          .query_width = projected(names.query_norm, layer.heads, set.count()),
          .key_width = projected(names.key_norm, kv_heads, set.kv_count()),
          .value_width = set.kv_count() * value,
          .merged = set.count() * value,
          .head_dim = key};
}

int64_t attention_count(const TransformerBlockOptions& layer,
                        const std::optional<nn::HeadNumbers>& left,
                        const nn::AttentionNames& names) {
  const LayerHeads heads = layer_heads(layer, left, names);
  const int64_t widths[] = {heads.query_width, heads.key_width, heads.value_width};
  int64_t count = heads.merged * layer.width;
  for (size_t i = 0; i < std::size(widths); ++i) {
    count += layer.width * widths[i];
    if (layer.qkv_bias && !names.biases[i].empty()) count += widths[i];
  }
  if (layer.out_bias && !names.output_bias.empty()) count += layer.width;
  const bool norm_bias =
      layer.query_key_norm.kind == nn::NormKind::layer_norm && layer.query_key_norm.bias;
  for (size_t i = 0; i < 2; ++i) {
    if ((i == 0 ? names.query_norm : names.key_norm).empty() || heads.heads == 0) continue;
    count += (layer.query_key_norm.each_head ? heads.head_dim : widths[i]) * (norm_bias ? 2 : 1);
  }
  if (!names.position_bias.empty() && !layer.position_bias.table) {
    count += layer.position_bias.buckets * layer.heads;
  }
  return count;
}

}  // namespace

int64_t parameter_count(const nn::NormOptions& norm) {
  return norm.width * (norm.kind == nn::NormKind::layer_norm && norm.bias ? 2 : 1);
}

int64_t parameter_count(const TransformerBlockOptions& layer) {
  const nn::TransformerNames& names = layer.names;
  int64_t count = attention_count(layer, layer.self_heads_left, names.self);
  if (layer.cross_attention) count += attention_count(layer, layer.cross_heads_left, names.cross);
  const int64_t inner = names.gate.empty() ? 1 : 2;
  count += (inner + 1) * layer.width * layer.hidden;
  if (layer.feed_forward_bias) count += inner * layer.hidden + layer.width;
  const int64_t norm = parameter_count(
      nn::NormOptions{.width = layer.width, .kind = layer.norm_kind, .bias = layer.norm_bias});
  for (const std::string* name : {&names.self_norm, &names.self_output_norm,
                                  &names.feed_forward_norm, &names.feed_forward_output_norm}) {
    if (!name->empty()) count += norm;
  }
  for (const std::string* name : {&names.cross_norm, &names.cross_output_norm}) {
    if (layer.cross_attention && !name->empty()) count += norm;
  }
  return count;
}

int64_t kept_of_layer(const TransformerBlockOptions& layer) {
  const LayerHeads heads = layer_heads(layer, layer.self_heads_left, layer.names.self);
  return kept_of_layer(layer.width, heads.merged,
                       (layer.names.gate.empty() ? 1 : 2) * layer.hidden);
}

std::string modern_norm_name(const std::string& name) {
  const auto renamed = [&name](std::string_view old, const char* now) {
    return name.substr(0, name.size() - old.size()) + now;
  };
  if (name.ends_with("LayerNorm.gamma")) return renamed("gamma", "weight");
  if (name.ends_with("LayerNorm.beta")) return renamed("beta", "bias");
  return name;
}

}  // namespace headlight::models
