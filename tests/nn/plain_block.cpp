// The formulas of a block, one number at a time.
#include "tests/nn/plain_block.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headlight::nn {
namespace {

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    default:
      return x;
  }
}

class PlainBlock {
 public:
  PlainBlock(const TransformerBlockOptions& options, const PlainState& state)
      : options_(options), state_(state) {
    if (options_.kv_heads == 0) options_.kv_heads = options_.heads;
    if (options_.head_dim == 0) options_.head_dim = options_.width / options_.heads;
    if (options_.value_head_dim == 0) options_.value_head_dim = options_.head_dim;
  }

  Matrix run(const Matrix& x, const Matrix& memory) const {
    const TransformerNames& names = options_.names;
    if (options_.order == SublayerOrder::parallel) {
      const Matrix read = norm(names.self_norm, x);
      const Matrix attended = norm(names.self_output_norm, self(read));
      const std::string& own = names.feed_forward_norm;
      const Matrix fed =
          norm(names.feed_forward_output_norm, feed_forward(own.empty() ? read : norm(own, x)));
      return sum(sum(attended, fed), x);
    }
    Matrix y = sublayer(x, names.self_norm, names.self_output_norm,
                        [&](const Matrix& rows) { return self(rows); });
    if (options_.cross_attention) {
      y = sublayer(y, names.cross_norm, names.cross_output_norm,
                   [&](const Matrix& rows) { return attend(names.cross, rows, memory, false); });
    }
    return sublayer(y, names.feed_forward_norm, names.feed_forward_output_norm,
                    [&](const Matrix& rows) { return feed_forward(rows); });
  }

 private:
  template <class F>
  Matrix sublayer(const Matrix& x, const std::string& name, const std::string& output_name,
                  const F& f) const {
    if (options_.norm_place == NormPlace::post) return norm(name, sum(f(x), x));
    return sum(norm(output_name, f(norm(name, x))), x);
  }

  static Matrix sum(const Matrix& a, const Matrix& b) {
    Matrix c = a;
    for (size_t i = 0; i < c.numbers.size(); ++i) c.numbers[i] += b.numbers[i];
    return c;
  }

  // `outputs` of a layer's outputs from `begin` on.
  struct Layer {
    std::string weight;
    std::string bias;
    int64_t begin = 0;
    int64_t bias_begin = 0;
    int64_t outputs = 0;
  };
  Matrix linear(const Layer& layer, const Matrix& x) const {
    Matrix y(x.rows, layer.outputs);
    const std::vector<double>& weight = state_.at(layer.weight);
    for (int64_t i = 0; i < y.rows; ++i) {
      for (int64_t j = 0; j < y.columns; ++j) {
        double dot = 0;
        for (int64_t k = 0; k < x.columns; ++k) {
          dot += x.at(i, k) * weight[static_cast<size_t>((layer.begin + j) * x.columns + k)];
        }
        if (!layer.bias.empty()) {
          dot += state_.at(layer.bias)[static_cast<size_t>(layer.bias_begin + j)];
        }
        y.at(i, j) = dot;
      }
    }
    return y;
  }

  // Of the `width` numbers from `row` on.
  void normalize(const std::string& name, const QueryKeyNormOptions& norm, double* row,
                 int64_t width) const {
    const bool is_layer_norm = norm.kind == NormKind::layer_norm;
    const auto count = static_cast<double>(width);
    double mean = 0;
    double square = 0;
    for (int64_t j = 0; j < width && is_layer_norm; ++j) mean += row[j] / count;
    for (int64_t j = 0; j < width; ++j) square += (row[j] - mean) * (row[j] - mean) / count;
    for (int64_t j = 0; j < width; ++j) {
      const auto column = static_cast<size_t>(j);
      const double factor =
          static_cast<double>(norm.weight_offset) + state_.at(name + ".weight")[column];
      row[j] = (row[j] - mean) / std::sqrt(square + static_cast<double>(norm.epsilon)) * factor;
      if (is_layer_norm && norm.bias) row[j] += state_.at(name + ".bias")[column];
    }
  }

 public:
  Matrix norm(const std::string& name, const Matrix& x) const {
    Matrix y = x;
    for (int64_t i = 0; i < x.rows && !name.empty(); ++i) {
      normalize(name,
                {.kind = options_.norm_kind,
                 .bias = options_.norm_bias,
                 .epsilon = options_.epsilon,
                 .weight_offset = options_.norm_weight_offset},
                &y.at(i, 0), y.columns);
    }
    return y;
  }

 private:
  Matrix head_norm(const std::string& name, const Matrix& x) const {
    Matrix y = x;
    const QueryKeyNormOptions& norm = options_.query_key_norm;
    const int64_t width = norm.each_head ? options_.head_dim : x.columns;
    for (int64_t i = 0; i < x.rows && !name.empty(); ++i) {
      for (int64_t j = 0; j < x.columns; j += width) normalize(name, norm, &y.at(i, j), width);
    }
    return y;
  }

  // Row i is at position i.
  Matrix rotated(const Matrix& x) const {
    Matrix y = x;
    const RotaryOptions& rotation = options_.rotation;
    const auto pairs = static_cast<int64_t>(rotation.rates.size());
    for (int64_t i = 0; i < x.rows; ++i) {
      for (int64_t head = 0; head < x.columns; head += options_.head_dim) {
        for (int64_t pair = 0; pair < pairs; ++pair) {
          const int64_t a = head + (rotation.interleaved ? 2 * pair : pair);
          const int64_t b = rotation.interleaved ? a + 1 : a + pairs;
          const double angle = static_cast<double>(i) *
                               static_cast<double>(rotation.rates[static_cast<size_t>(pair)]);
          const double magnitude = static_cast<double>(rotation.magnitude);
          y.at(i, a) = magnitude * (x.at(i, a) * std::cos(angle) - x.at(i, b) * std::sin(angle));
          y.at(i, b) = magnitude * (x.at(i, b) * std::cos(angle) + x.at(i, a) * std::sin(angle));
        }
      }
    }
    return y;
  }

  // Where the outputs of projection `input` begin in the parameter it shares with others.
  int64_t begin_of(const AttentionNames& attention, const std::array<std::string, 3>& names,
                   size_t input) const {
    int64_t begin = 0;
    for (size_t i = 0; i < input; ++i) {
      if (names[i] == names[input]) begin += projected_width(attention, i);
    }
    return begin;
  }
  // The heads that attention of these names has, and the key/value heads that they read.
  std::vector<int64_t> heads_of(const AttentionNames& names) const {
    const bool is_self = &names == &options_.names.self;
    const auto& left = is_self ? options_.self_heads_left : options_.cross_heads_left;
    if (left) return *left;
    std::vector<int64_t> all(static_cast<size_t>(options_.heads));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::vector<int64_t> kv_heads_of(const AttentionNames& names) const {
    std::vector<int64_t> read;
    for (const int64_t head : heads_of(names)) {
      const int64_t kv = head * options_.kv_heads / options_.heads;
      if (std::find(read.begin(), read.end(), kv) == read.end()) read.push_back(kv);
    }
    return read;
  }
  int64_t projected_width(const AttentionNames& names, size_t input) const {
    if (input == 0) return static_cast<int64_t>(heads_of(names).size()) * options_.head_dim;
    return static_cast<int64_t>(kv_heads_of(names).size()) *
           (input == 1 ? options_.head_dim : options_.value_head_dim);
  }
  Matrix project(const AttentionNames& names, size_t input, const Matrix& x) const {
    const bool has_bias = options_.qkv_bias && !names.biases[input].empty();
    return linear({.weight = names.weights[input],
                   .bias = has_bias ? names.biases[input] : "",
                   .begin = begin_of(names, names.weights, input),
                   .bias_begin = begin_of(names, names.biases, input),
                   .outputs = projected_width(names, input)},
                  x);
  }

  Matrix self(const Matrix& x) const { return attend(options_.names.self, x, x, true); }

  bool sees(int64_t i, int64_t j, bool is_self) const {
    if (!is_self) return true;
    if (options_.causal && j > i) return false;
    return options_.window == 0 || std::abs(i - j) < options_.window;
  }

  // T5's bucket of a key at this distance from the query, positive after it.
  int64_t bucket(int64_t relative, int64_t buckets) const {
    const PositionBiasOptions& bias = options_.position_bias;
    int64_t first = 0;
    if (bias.bidirectional) {
      buckets /= 2;
      if (relative > 0) first = buckets;
    } else {
      relative = std::min<int64_t>(relative, 0);
    }
    const int64_t distance = std::abs(relative);
    const int64_t exact = buckets / 2;
    if (distance < exact) return first + distance;
    const double share =
        std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
        std::log(static_cast<double>(bias.max_distance) / static_cast<double>(exact));
    const auto far = static_cast<int64_t>(share * static_cast<double>(buckets - exact));
    return first + std::min(exact + far, buckets - 1);
  }

  double position_bias(const AttentionNames& names, int64_t h, int64_t i, int64_t j) const {
    const PositionBiasOptions& bias = options_.position_bias;
    if (!bias.slopes.empty()) {
      return -static_cast<double>(bias.slopes[static_cast<size_t>(h)]) *
             static_cast<double>(std::abs(i - j));
    }
    const std::string name = bias.table ? bias.table->name() : names.position_bias;
    if (name.empty()) return 0;
    const std::vector<double>& table = state_.at(name);
    const auto buckets = static_cast<int64_t>(table.size()) / options_.heads;
    return table[static_cast<size_t>(bucket(j - i, buckets) * options_.heads + h)];
  }

  Matrix attend(const AttentionNames& names, const Matrix& x, const Matrix& memory,
                bool is_self) const {
    Matrix query = head_norm(names.query_norm, project(names, 0, x));
    Matrix key = head_norm(names.key_norm, project(names, 1, memory));
    if (is_self) query = rotated(query);
    if (is_self) key = rotated(key);
    const Matrix value = project(names, 2, memory);
    const int64_t width = options_.head_dim;
    const int64_t value_width = options_.value_head_dim;
    const double scale = options_.scale ? static_cast<double>(*options_.scale)
                                        : 1 / std::sqrt(static_cast<double>(width));
    const std::vector<int64_t> heads = heads_of(names);
    const std::vector<int64_t> kv_heads = kv_heads_of(names);
    Matrix merged(x.rows, static_cast<int64_t>(heads.size()) * value_width);
    for (int64_t h = 0; h < static_cast<int64_t>(heads.size()); ++h) {
      const int64_t number = heads[static_cast<size_t>(h)];
      const int64_t kv =
          std::find(kv_heads.begin(), kv_heads.end(), number * options_.kv_heads / options_.heads) -
          kv_heads.begin();
      for (int64_t i = 0; i < x.rows; ++i) {
        std::vector<double> weights;
        double total = 0;
        for (int64_t j = 0; j < memory.rows; ++j) {
          double score = 0;
          for (int64_t d = 0; d < width; ++d) {
            score += query.at(i, h * width + d) * key.at(j, kv * width + d);
          }
          score *= scale;
          if (options_.softcap > 0) {
            const auto cap = static_cast<double>(options_.softcap);
            score = cap * std::tanh(score / cap);
          }
          if (is_self) score += position_bias(names, number, i, j);
          weights.push_back(sees(i, j, is_self) ? std::exp(score) : 0);
          total += weights.back();
        }
        for (int64_t j = 0; j < memory.rows; ++j) {
          const double weight = weights[static_cast<size_t>(j)] / total;
          for (int64_t e = 0; e < value_width; ++e) {
            merged.at(i, h * value_width + e) += weight * value.at(j, kv * value_width + e);
          }
        }
      }
    }
    return linear({.weight = names.output_weight,
                   .bias = options_.out_bias ? names.output_bias : "",
                   .outputs = options_.width},
                  merged);
  }

  Layer feed_forward_layer(const std::string& name, int64_t outputs, int64_t begin = 0) const {
    return {.weight = name + ".weight",
            .bias = options_.feed_forward_bias ? name + ".bias" : "",
            .begin = begin,
            .bias_begin = begin,
            .outputs = outputs};
  }
  Matrix feed_forward(const Matrix& x) const {
    const TransformerNames& names = options_.names;
    const bool fused = names.gate == names.first;
    Matrix hidden =
        linear(feed_forward_layer(names.first, options_.hidden, fused ? options_.hidden : 0), x);
    if (names.gate.empty()) {
      for (double& number : hidden.numbers) number = activated(options_.activation, number);
    } else {
      const Matrix gate = linear(feed_forward_layer(names.gate, options_.hidden), x);
      for (size_t i = 0; i < gate.numbers.size(); ++i) {
        hidden.numbers[i] *= activated(options_.activation, gate.numbers[i]);
      }
    }
    return linear(feed_forward_layer(names.second, options_.width), hidden);
  }

  TransformerBlockOptions options_;
  const PlainState& state_;
};

}  // namespace

PlainState plain_state(const Parameters& parameters) {
  PlainState state;
  for (const ParameterHandle& parameter : parameters) {
    const tensor::Tensor& numbers = parameter->value().data();
    state[parameter->name()] = {numbers.data<float>(), numbers.data<float>() + numbers.elements()};
  }
  return state;
}

Matrix plain_block(const TransformerBlockOptions& options, const PlainState& state, const Matrix& x,
                   const Matrix& memory) {
  return PlainBlock(options, state).run(x, memory);
}

Matrix plain_norm(const TransformerBlockOptions& options, const PlainState& state,
                  const std::string& name, const Matrix& x) {
  return PlainBlock(options, state).norm(name, x);
}

}  // namespace headlight::nn
