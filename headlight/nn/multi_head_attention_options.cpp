// MultiHeadAttentionOptions: defaults and checks.
#include "headlight/nn/multi_head_attention_options.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headlight::nn {
namespace {

using base::Error;
using base::ErrorKind;

[[noreturn]] void refuse_options(const std::string& place, const std::string& why) {
  throw Error(ErrorKind::bad_input, "multi-head attention", place, why);
}

void set_default(int64_t& value, int64_t fallback) {
  if (value == 0) value = fallback;
}

void check_positive(const MultiHeadAttentionOptions& options) {
  const std::pair<const char*, int64_t> numbers[] = {{"query_width", options.query_width},
                                                     {"key_width", options.key_width},
                                                     {"value_width", options.value_width},
                                                     {"heads", options.heads},
                                                     {"kv_heads", options.kv_heads},
                                                     {"head_dim", options.head_dim},
                                                     {"value_head_dim", options.value_head_dim},
                                                     {"out_dim", options.out_dim}};
  for (const auto& [name, number] : numbers) {
    if (number < 1) {
      refuse_options(options.place, std::string(name) + " is " + std::to_string(number) +
                                        ", at least 1 is needed");
    }
  }
  if (options.heads % options.kv_heads != 0) {
    refuse_options(options.place, std::to_string(options.heads) + " heads cannot share " +
                                      std::to_string(options.kv_heads) + " key/value heads evenly");
  }
}

void set_head_widths(MultiHeadAttentionOptions& options) {
  if (options.head_dim == 0 && options.heads > 0) {
    if (options.out_dim % options.heads != 0) {
      refuse_options(options.place, "width " + std::to_string(options.out_dim) +
                                        " cannot be split into " + std::to_string(options.heads) +
                                        " heads");
    }
    options.head_dim = options.out_dim / options.heads;
  }
  set_default(options.value_head_dim, options.head_dim);
}

void check_rotation(const MultiHeadAttentionOptions& options) {
  const auto pairs = static_cast<int64_t>(options.rotation.rates.size());
  if (2 * pairs > options.head_dim) {
    refuse_options(options.place, "rotation has rates for " + std::to_string(2 * pairs) +
                                      " columns, heads have " + std::to_string(options.head_dim));
  }
}

void check_table(const MultiHeadAttentionOptions& options) {
  const PositionBiasOptions& bias = options.position_bias;
  const tensor::Shape shape =
      bias.table ? bias.table->shape() : tensor::Shape{bias.buckets, options.heads};
  if (shape.rank() != 2 || shape[1] != options.heads) {
    refuse_options(options.place, "the table of position biases is " + shape.text() + " for " +
                                      std::to_string(options.heads) + " heads");
  }
  const int64_t one_side = bias.bidirectional ? shape[0] / 2 : shape[0];
  if (one_side < 2 || bias.max_distance <= one_side / 2) {
    refuse_options(options.place, "position biases of " + std::to_string(shape[0]) + " buckets, " +
                                      std::to_string(one_side) +
                                      " for each side, and max_distance " +
                                      std::to_string(bias.max_distance) +
                                      ": at least 2 and more "
                                      "than " +
                                      std::to_string(one_side / 2) + " are needed");
  }
}

void check_position_bias(const MultiHeadAttentionOptions& options) {
  const PositionBiasOptions& bias = options.position_bias;
  const bool has_table = bias.table != nullptr || !options.names.position_bias.empty();
  if (has_table) check_table(options);
  if (bias.slopes.empty()) return;
  if (has_table) refuse_options(options.place, "position biases have slopes or a table, not both");
  if (static_cast<int64_t>(bias.slopes.size()) != options.heads) {
    refuse_options(options.place, "there are " + std::to_string(bias.slopes.size()) +
                                      " slopes of position biases for " +
                                      std::to_string(options.heads) + " heads");
  }
}

void check_interleaved(const MultiHeadAttentionOptions& options) {
  const AttentionNames& names = options.names;
  if (!names.interleaved) return;
  const auto alike = [](const std::array<std::string, 3>& three) {
    return three[0] == three[1] && three[1] == three[2];
  };
  const bool one_width = options.query_width == options.key_width &&
                         options.key_width == options.value_width &&
                         options.head_dim == options.value_head_dim;
  const bool whole_rows =
      !options.query_key_norm.each_head && !(names.query_norm.empty() && names.key_norm.empty());
  if (alike(names.weights) && alike(names.biases) && one_width && !whole_rows &&
      options.kv_heads == options.heads) {
    return;
  }
  refuse_options(options.place,
                 "queries, keys and values of heads that lie in turns need one weight, one width "
                 "and as many key/value heads as heads");
}

void check_heads_left(const MultiHeadAttentionOptions& options) {
  if (options.heads_left && !options.output_projection) {
    refuse_options(options.place,
                   "without an output projection the heads themselves are the output, none can go");
  }
}

}  // namespace

RotaryOptions rotary_options(const kernels::RotaryRates& rates) {
  const auto refuse_rates = [](const char* name, const std::string& number, const char* why) {
    throw Error(ErrorKind::bad_input, "rotary rates", name, "is " + number + ", " + why);
  };
  if (rates.width < 2 || rates.width % 2 != 0) {
    refuse_rates("width", std::to_string(rates.width), "an even number of columns is needed");
  }
  const std::pair<const char*, double> factors[] = {
      {"base", rates.base},
      {"factor", rates.factor},
      {"low_freq_factor", rates.low_freq_factor},
      {"high_freq_factor", rates.high_freq_factor},
      {"original_positions", rates.original_positions}};
  for (const auto& [name, number] : factors) {
    if (number > 0 && std::isfinite(number)) continue;
    refuse_rates(name, std::to_string(number), "it must be more than 0 and finite");
  }
  return {.rates = kernels::rotary_rates(rates)};
}

std::vector<float> alibi_slopes(int64_t heads) {
  int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  const auto slope = [](int64_t i, int64_t count) {
    return static_cast<float>(std::exp2(-8 * static_cast<double>(i) / static_cast<double>(count)));
  };
  std::vector<float> slopes;
  for (int64_t i = 1; i <= std::min(power, heads); ++i) slopes.push_back(slope(i, power));
  for (int64_t i = 1; power + (i + 1) / 2 <= heads; i += 2) slopes.push_back(slope(i, 2 * power));
  return slopes;
}

AttentionNames fused_names() {
  return {.weights = {"c_attn.weight", "c_attn.weight", "c_attn.weight"},
          .biases = {"c_attn.bias", "c_attn.bias", "c_attn.bias"},
          .output_weight = "c_proj.weight",
          .output_bias = "c_proj.bias"};
}

AttentionNames AttentionNames::with_prefix(const std::string& prefix) const {
  const auto prefixed = [&prefix](const std::string& name) {
    return name.empty() ? name : prefix + name;
  };
  AttentionNames names = *this;
  std::transform(weights.begin(), weights.end(), names.weights.begin(), prefixed);
  std::transform(biases.begin(), biases.end(), names.biases.begin(), prefixed);
  names.output_weight = prefixed(output_weight);
  names.output_bias = prefixed(output_bias);
  names.query_norm = prefixed(query_norm);
  names.key_norm = prefixed(key_norm);
  names.position_bias = prefixed(position_bias);
  return names;
}

MultiHeadAttentionOptions with_defaults(MultiHeadAttentionOptions options) {
  set_default(options.key_width, options.query_width);
  set_default(options.value_width, options.key_width);
  set_default(options.kv_heads, options.heads);
  if (!options.output_projection) options.names.output_weight.clear();
  options.output_projection = !options.names.output_weight.empty();
  if (!options.out_bias || !options.output_projection) options.names.output_bias.clear();
  if (!options.qkv_bias) options.names.biases = {};
  const bool free_width = options.out_dim == 0 && !options.output_projection;
  set_default(options.out_dim, options.query_width);
  set_head_widths(options);
  const int64_t merged = options.heads * options.value_head_dim;
  if (free_width) options.out_dim = merged;
  check_positive(options);
  if (!options.output_projection && options.out_dim != merged) {
    refuse_options(options.place, "out_dim is " + std::to_string(options.out_dim) +
                                      ", without an output projection " +
                                      std::to_string(options.heads) + " heads of width " +
                                      std::to_string(options.value_head_dim) + " give " +
                                      std::to_string(merged));
  }
  check_rotation(options);
  check_interleaved(options);
  if (options.position_bias.table) options.names.position_bias.clear();
  check_position_bias(options);
  check_heads_left(options);
  return options;
}

}  // namespace headlight::nn
