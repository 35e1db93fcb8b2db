// Drawing, and running on both sides.
#include "tests/kernels/attention_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "tests/kernels/cached_tiles.h"

namespace headlight::tests {
namespace {

using kernels::AttentionShape;

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(base::mix(seed, 77)) {}
  int64_t between(int64_t low, int64_t high) {
    return low +
           static_cast<int64_t>(random_.below(next_++, static_cast<uint64_t>(high - low + 1)));
  }
  bool chance(double probability) { return random_.uniform64(next_++) < probability; }
  double number() { return static_cast<double>(static_cast<float>(random_.normal(next_++))); }
  std::vector<double> numbers(int64_t count) {
    std::vector<double> result(static_cast<size_t>(count));
    for (double& x : result) x = number();
    return result;
  }

 private:
  base::Random random_;
  uint64_t next_ = 0;
};

int64_t count_of(const int64_t (&sizes)[4]) { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }

void draw_sizes(Draw& draw, const AttentionShape& s, int64_t (&sizes)[4]) {
  const int64_t full[] = {s.batch, s.heads, s.queries, s.keys};
  for (int axis = 0; axis < 4; ++axis) sizes[axis] = draw.chance(0.6) ? full[axis] : 1;
}

template <class T>
tensor::Broadcast<T> broadcast(T* data, const int64_t (&sizes)[4]) {
  tensor::Broadcast<T> result{data, {}};
  int64_t stride = 1;
  for (int axis = 3; axis >= 0; --axis) {
    result.strides[static_cast<size_t>(axis)] = sizes[axis] == 1 ? 0 : stride;
    stride *= sizes[axis];
  }
  return result;
}

tensor::Broadcast<const bool> flags(const std::vector<uint8_t>& bytes, const int64_t (&sizes)[4]) {
  if (bytes.empty()) return {};
  return broadcast(reinterpret_cast<const bool*>(bytes.data()), sizes);
}

// Float memory for (batch, heads, rows, width), off alignment, in one of two layouts.
class HeadsMemory {
 public:
  HeadsMemory(int64_t batch, int64_t heads, int64_t rows, int64_t width, bool heads_inside)
      : batch_(batch), heads_(heads), rows_(rows), width_(width) {
    row_stride_ = heads_inside ? heads * width + 3 : width;
    head_stride_ = heads_inside ? width : rows * width;
    batch_stride_ = rows * (heads_inside ? row_stride_ : heads * width);
    memory_.assign(static_cast<size_t>(batch * batch_stride_ + 1), 0.0f);
  }
  tensor::HeadsView view() {
    return {memory_.data() + 1, batch_stride_, head_stride_, row_stride_};
  }
  void load(const std::vector<double>& from) {
    size_t next = 0;
    each([&](float& x) { x = static_cast<float>(from[next++]); });
  }
  std::vector<float> values() {
    std::vector<float> result;
    each([&](float& x) { result.push_back(x); });
    return result;
  }

 private:
  template <class F>
  void each(const F& visit) {
    for (int64_t b = 0; b < batch_; ++b)
      for (int64_t h = 0; h < heads_; ++h)
        for (int64_t i = 0; i < rows_; ++i)
          for (int64_t c = 0; c < width_; ++c) visit(view().row(b, h, i)[c]);
  }
  int64_t batch_, heads_, rows_, width_, row_stride_, head_stride_, batch_stride_;
  std::vector<float> memory_;
};

std::vector<float> floats(const std::vector<double>& from) { return {from.begin(), from.end()}; }

template <class T>
std::vector<T> part(const std::vector<T>& from, int64_t index, int64_t parts) {
  if (from.empty() || parts == 0) return from;
  const auto size = static_cast<int64_t>(from.size()) / parts;
  return {from.begin() + index * size, from.begin() + (index + 1) * size};
}

template <class T>
void keep_sequence(std::vector<T>& values, int64_t (&sizes)[4], int64_t b) {
  if (values.empty() || sizes[0] == 1) return;
  values = part(values, b, sizes[0]);
  sizes[0] = 1;
}

// The same problem for sequence b alone.
AttentionCase alone(AttentionCase c, int64_t b) {
  const int64_t parts = c.shape.batch;
  for (auto* values : {&c.query, &c.key, &c.value, &c.d_output}) *values = part(*values, b, parts);
  for (auto* lens : {&c.past, &c.valid_lens, &c.query_lens}) *lens = part(*lens, b, parts);
  if (c.gates_per_sequence) c.gates = part(c.gates, b, parts);
  keep_sequence(c.bias, c.bias_sizes, b);
  keep_sequence(c.keep, c.keep_sizes, b);
  keep_sequence(c.forbid, c.forbid_sizes, b);
  c.shape.batch = 1;
  return c;
}

// Slopes as ALiBi has them, some negative, or a table, some of whose entries hide.
void draw_position_bias(Draw& draw, AttentionCase& c) {
  auto& bias = c.position_bias;
  if (!draw.chance(0.4)) return;
  if (draw.chance(0.5)) {
    bias.kind = kernels::PositionBiasKind::linear;
    c.positions = draw.numbers(c.shape.heads);
    for (double& slope : c.positions) slope = static_cast<double>(static_cast<float>(0.05 * slope));
    return;
  }
  bias.kind = kernels::PositionBiasKind::buckets;
  bias.bidirectional = draw.chance(0.5);
  bias.buckets = draw.between(bias.bidirectional ? 4 : 2, 40);
  bias.max_distance = draw.between(bias.buckets, 200);
  c.positions = draw.numbers(bias.buckets * c.shape.heads);
  if (draw.chance(0.7)) return;
  for (double& x : c.positions) x = draw.chance(0.2) ? -std::numeric_limits<double>::infinity() : x;
}

kernels::PositionBias position_bias(const AttentionCase& c, const std::vector<float>& positions) {
  const auto& bias = c.position_bias;
  return {bias.kind, positions.data(), bias.buckets, bias.bidirectional, bias.max_distance};
}

// Key/value heads with any number of readers, at least one each.
std::vector<int64_t> uneven_readers(Draw& draw, const AttentionShape& s) {
  std::vector<int64_t> kv_head_of;
  for (int64_t h = 0; h < s.heads; ++h) {
    const int64_t last = kv_head_of.empty() ? -1 : kv_head_of.back();
    const int64_t unread = s.kv_heads - 1 - last;
    const bool next = last < 0 || unread == s.heads - h || (unread > 0 && draw.chance(0.5));
    kv_head_of.push_back(next ? last + 1 : last);
  }
  return kv_head_of;
}

}  // namespace

AttentionCase AttentionCase::draw(uint64_t seed, const CaseLimits& limits) {
  Draw draw(seed);
  AttentionCase c;
  const bool small = draw.chance(0.5);
  const int64_t largest = small ? std::min<int64_t>(limits.largest_size, 20) : limits.largest_size;
  const int64_t group = draw.between(1, 3);
  AttentionShape& s = c.shape;
  s.batch = draw.chance(0.02) ? 0 : draw.between(1, 3);
  s.kv_heads = draw.between(1, 3);
  s.heads = s.kv_heads * (draw.chance(0.5) ? 1 : group);
  if (limits.additive) s.heads = s.kv_heads = 1;
  s.queries = draw.between(0, largest);
  s.keys = draw.chance(0.4) ? s.queries : draw.between(0, largest);
  if (limits.long_keys)
    s.keys = draw.between(100, 420),
    s.queries = draw.chance(0.5) ? draw.between(90, 230) : s.queries;
  s.key_width = draw.between(draw.chance(0.03) ? 0 : 1, largest);
  s.value_width = draw.chance(0.4) ? s.key_width : draw.between(draw.chance(0.03) ? 0 : 1, largest);
  c.query = draw.numbers(s.batch * s.heads * s.queries * s.key_width);
  c.key = draw.numbers(s.batch * s.kv_heads * s.keys * s.key_width);
  c.value = draw.numbers(s.batch * s.kv_heads * s.keys * s.value_width);
  c.d_output = draw.numbers(s.batch * s.heads * s.queries * s.value_width);
  c.scale = static_cast<float>(
      draw.chance(0.7) ? 1 / std::sqrt(std::max<double>(1, static_cast<double>(s.key_width)))
                       : 0.3 * draw.number());
  if (draw.chance(0.25)) c.softcap = static_cast<double>(draw.between(1, 20)) * 0.25;
  c.causal = draw.chance(0.4);
  if (draw.chance(0.25)) c.window = draw.between(1, 40);
  for (int64_t b = 0; b < s.batch && draw.chance(0.9); ++b)
    c.past.push_back(draw.between(-9, s.keys));
  if (static_cast<int64_t>(c.past.size()) != s.batch || draw.chance(0.5)) c.past.clear();
  if (draw.chance(0.3)) {
    c.valid_lens_per_query = draw.chance(0.5);
    const int64_t count = c.valid_lens_per_query ? s.batch * s.queries : s.batch;
    for (int64_t n = 0; n < count; ++n) c.valid_lens.push_back(draw.between(0, s.keys));
  }
  if (draw.chance(0.2)) {
    for (int64_t b = 0; b < s.batch; ++b) c.query_lens.push_back(draw.between(0, s.queries));
  }
  if (draw.chance(0.25)) {
    draw_sizes(draw, s, c.bias_sizes);
    c.bias = draw.numbers(count_of(c.bias_sizes));
    for (double& x : c.bias) x = draw.chance(0.1) ? -std::numeric_limits<double>::infinity() : x;
  }
  for (auto [bytes, sizes] :
       {std::pair{&c.keep, &c.keep_sizes}, std::pair{&c.forbid, &c.forbid_sizes}}) {
    if (!draw.chance(0.2)) continue;
    draw_sizes(draw, s, *sizes);
    bytes->resize(static_cast<size_t>(count_of(*sizes)));
    for (uint8_t& byte : *bytes) byte = draw.chance(bytes == &c.keep ? 0.7 : 0.3);
  }
  if (draw.chance(0.25)) {
    c.gates_per_sequence = draw.chance(0.5);
    c.gates = draw.numbers(c.gates_per_sequence ? s.batch * s.heads : s.heads);
    for (double& gate : c.gates) gate = draw.chance(0.2) ? 0 : gate;
  }
  if (limits.dropout && draw.chance(0.2)) {
    c.dropout_probability = 0.3f;
    c.dropout_key = base::mix(seed, 5);
  }
  c.additive = limits.additive;
  if (c.additive) {
    c.scale = 1, c.softcap = 0;
    c.score_weights = draw.numbers(s.key_width);
  } else {
    draw_position_bias(draw, c);
  }
  if (s.heads > s.kv_heads && draw.chance(0.4)) {
    c.kv_head_of = std::make_shared<const std::vector<int64_t>>(uneven_readers(draw, s));
    s.kv_head_of = c.kv_head_of->data();
  }
  return c;
}

kernels::AttentionMask AttentionCase::mask() const {
  kernels::AttentionMask mask;
  mask.causal = causal;
  mask.window = window;
  if (!past.empty()) mask.past = past.data();
  if (!valid_lens.empty()) mask.valid_lens = valid_lens.data();
  mask.valid_lens_per_query = valid_lens_per_query;
  if (!query_lens.empty()) mask.query_lens = query_lens.data();
  mask.keep = flags(keep, keep_sizes);
  mask.forbid = flags(forbid, forbid_sizes);
  return mask;
}

std::vector<double> AttentionCase::dropout_factors() const {
  std::vector<double> factors;
  if (dropout_probability == 0) return factors;
  const auto threshold = static_cast<uint64_t>(static_cast<double>(dropout_probability) * 0x1p32);
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t h = 0; h < shape.heads; ++h)
      for (int64_t i = 0; i < shape.queries; ++i)
        for (int64_t j = 0; j < shape.keys; ++j) {
          const auto block = base::philox({static_cast<uint32_t>(j / 4), static_cast<uint32_t>(i),
                                           static_cast<uint32_t>(h), static_cast<uint32_t>(b)},
                                          dropout_key);
          const bool kept = block[static_cast<size_t>(j % 4)] >= threshold;
          factors.push_back(kept ? 1 / (1 - static_cast<double>(dropout_probability)) : 0);
        }
  return factors;
}

std::string AttentionCase::text() const {
  std::ostringstream out;
  out << "B " << shape.batch << " H " << shape.heads << "/" << shape.kv_heads << " T "
      << shape.queries << " S " << shape.keys << " D " << shape.key_width << " E "
      << shape.value_width << (causal ? " causal" : "") << " window " << window << " past "
      << past.size() << " valid " << valid_lens.size() << " query_lens " << query_lens.size()
      << " keep " << keep.size() << " forbid " << forbid.size() << " bias " << bias.size()
      << " gates " << gates.size() << " cap " << softcap << " scale " << scale << " dropout "
      << dropout_probability << " position bias " << static_cast<int>(position_bias.kind)
      << " buckets " << position_bias.buckets << (position_bias.bidirectional ? " both ways" : "")
      << " to " << position_bias.max_distance << (kv_head_of ? " uneven readers" : "");
  return out.str();
}

AttentionRun run_kernels(const AttentionCase& given, const RunOptions& options) {
  const AttentionCase c = options.only_sequence >= 0 ? alone(given, options.only_sequence) : given;
  const AttentionShape& s = c.shape;
  base::ThreadPool pool(options.threads);
  tensor::Arena arena;
  const kernels::Execution execution{pool, arena};
  const bool inside = options.heads_inside;
  HeadsMemory query(s.batch, s.heads, s.queries, s.key_width, inside),
      key(s.batch, s.kv_heads, s.keys, s.key_width, inside);
  HeadsMemory value(s.batch, s.kv_heads, s.keys, s.value_width, inside),
      d_output(s.batch, s.heads, s.queries, s.value_width, inside);
  HeadsMemory output(s.batch, s.heads, s.queries, s.value_width, inside),
      ungated(s.batch, s.heads, s.queries, s.value_width, false);
  query.load(c.query), key.load(c.key), value.load(c.value), d_output.load(c.d_output);
  const std::vector<float> gates = floats(c.gates), bias = floats(c.bias);
  const std::vector<float> positions = floats(c.positions);
  AttentionRun run;
  run.row_max.resize(static_cast<size_t>(s.batch * s.heads * s.queries));
  run.row_sum.resize(run.row_max.size());
  kernels::AttentionProblem problem;
  problem.shape = s;
  problem.query = query.view(), problem.key = key.view(), problem.value = value.view();
  problem.scale = static_cast<float>(c.scale);
  problem.softcap = static_cast<float>(c.softcap);
  problem.mask = c.mask();
  if (!bias.empty()) problem.mask.bias = broadcast(bias.data(), c.bias_sizes);
  problem.position_bias = position_bias(c, positions);
  if (!gates.empty()) problem.gates = gates.data();
  problem.gate_batch_stride = c.gates_per_sequence ? s.heads : 0;
  problem.dropout = {.probability = c.dropout_probability, .key = c.dropout_key};
  if (options.only_sequence >= 0) problem.dropout.first_sequence = options.only_sequence;
  const kernels::AttentionOutputs outputs{output.view(), ungated.view(), run.row_max.data(),
                                          run.row_sum.data()};
  const std::vector<float> score_weights = floats(c.score_weights);
  if (c.additive) {
    kernels::additive_attention_forward(execution, problem, score_weights.data(), outputs);
  } else {
    kernels::attention_forward(execution, problem, outputs);
  }
  run.output = output.values();
  if (options.weights) {
    run.weights.resize(static_cast<size_t>(s.batch * s.heads * s.queries * s.keys));
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h) {
        const kernels::ScoreRequest request{options.stage, b, h, 0, s.queries};
        float* out = run.weights.data() + (b * s.heads + h) * s.queries * s.keys;
        if (c.additive) {
          kernels::additive_attention_scores(execution, problem, score_weights.data(), request,
                                             run.row_max.data(), run.row_sum.data(), out, s.keys);
        } else {
          kernels::attention_scores(execution, problem, request, run.row_max.data(),
                                    run.row_sum.data(), out, s.keys);
        }
      }
  }
  if (options.backward) {
    HeadsMemory d_query(s.batch, s.heads, s.queries, s.key_width, inside),
        d_key(s.batch, s.kv_heads, s.keys, s.key_width, inside);
    HeadsMemory d_value(s.batch, s.kv_heads, s.keys, s.value_width, inside);
    run.d_bias.resize(bias.size());
    run.d_gates.resize(gates.size());
    kernels::AttentionGradients gradients{
        d_query.view(), d_key.view(), d_value.view(), {}, nullptr};
    if (!bias.empty()) gradients.bias = broadcast(run.d_bias.data(), c.bias_sizes);
    if (!gates.empty()) gradients.gates = run.d_gates.data();
    run.d_positions.resize(positions.size());
    if (!positions.empty()) gradients.position_bias = run.d_positions.data();
    if (c.additive) {
      run.d_score_weights.resize(score_weights.size());
      kernels::additive_attention_backward(execution, problem, score_weights.data(), outputs,
                                           d_output.view(), gradients, run.d_score_weights.data());
    } else {
      kernels::attention_backward(execution, problem, outputs, d_output.view(), gradients);
    }
    run.d_query = d_query.values(), run.d_key = d_key.values(), run.d_value = d_value.values();
  }
  return run;
}

kernels::reference::AttentionInputs<double> reference_inputs(const AttentionCase& c) {
  kernels::reference::AttentionInputs<double> in;
  in.shape = c.shape;
  in.query = c.query.data(), in.key = c.key.data(), in.value = c.value.data();
  in.scale = c.scale, in.softcap = c.softcap;
  in.mask = c.mask();
  if (!c.bias.empty()) in.bias = broadcast(c.bias.data(), c.bias_sizes);
  in.position_bias = c.position_bias;
  in.position_bias.coefficients = c.positions.data();
  if (!c.gates.empty()) in.gates = c.gates.data();
  in.gate_batch_stride = c.gates_per_sequence ? c.shape.heads : 0;
  return in;
}

ReferenceRun run_reference(const AttentionCase& c) {
  kernels::reference::AttentionInputs<double> in = reference_inputs(c);
  const std::vector<double> dropout = c.dropout_factors();
  if (!dropout.empty()) in.dropout = dropout.data();
  ReferenceRun run;
  if (c.additive) {
    run.d_score_weights.resize(c.score_weights.size());
    run.forward = kernels::reference::additive_attention_forward(in, c.score_weights.data());
    run.backward = kernels::reference::additive_attention_backward(
        in, c.score_weights.data(), run.forward, c.d_output.data(), run.d_score_weights.data());
  } else {
    run.forward = kernels::reference::attention_forward(in);
    run.backward = kernels::reference::attention_backward(in, run.forward, c.d_output.data());
  }
  run.d_gates.assign(c.gates.size(), 0);
  for (size_t n = 0; n < c.d_output.size() && !c.gates.empty(); ++n) {
    run.summed += std::abs(c.d_output[n] * run.forward.ungated[n]);
  }
  const bool linear = c.position_bias.kind == kernels::PositionBiasKind::linear;
  for (size_t n = 0; n < run.backward.scores.size(); ++n) {
    const auto key = static_cast<int64_t>(n) % c.shape.keys;
    const auto row = static_cast<int64_t>(n) / c.shape.keys;
    const int64_t b = row / c.shape.queries / c.shape.heads;
    const int64_t far = std::abs(relative_position(in, b, row % c.shape.queries, key));
    const double terms = (c.bias.empty() ? 0 : 1) +
                         (c.positions.empty() ? 0 : 1) * (linear ? static_cast<double>(far) : 1);
    run.summed += terms * std::abs(run.backward.scores[n]);
  }
  if (!c.positions.empty()) run.d_positions = run.backward.position_bias;
  run.d_bias.assign(c.bias.size(), 0);
  const AttentionShape& s = c.shape;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      if (!c.gates.empty()) {
        run.d_gates[static_cast<size_t>(b * in.gate_batch_stride + h)] +=
            run.backward.gates[static_cast<size_t>(b * s.heads + h)];
      }
      for (int64_t n = 0; n < s.queries * s.keys && !c.bias.empty(); ++n) {
        auto sum = broadcast(run.d_bias.data(), c.bias_sizes);
        sum.at(b, h, n / s.keys, n % s.keys) +=
            run.backward.scores[static_cast<size_t>((b * s.heads + h) * s.queries * s.keys + n)];
      }
    }
  }
  return run;
}

std::vector<float> run_cached(const AttentionCase& c) {
  const AttentionShape& s = c.shape;
  base::ThreadPool pool(1);
  tensor::Arena arena;
  const kernels::Execution execution{pool, arena};
  HeadsMemory query(s.batch, s.heads, s.queries, s.key_width, false),
      key(s.batch, s.kv_heads, s.keys, s.key_width, false);
  HeadsMemory value(s.batch, s.kv_heads, s.keys, s.value_width, false),
      output(s.batch, s.heads, s.queries, s.value_width, false);
  query.load(c.query), key.load(c.key), value.load(c.value);
  const std::vector<float> gates = floats(c.gates), bias = floats(c.bias);
  const std::vector<float> positions = floats(c.positions);
  for (int64_t b = 0; b < s.batch; ++b) {
    CachedTiles cached(s);
    for (int64_t i = 0; i < s.queries; ++i) {
      const int64_t position = i + (c.past.empty() ? 0 : c.past[static_cast<size_t>(b)]);
      const int64_t keys = c.causal ? std::clamp<int64_t>(position + 1, 0, s.keys) : s.keys;
      cached.fill(key.view(), value.view(), b, keys);
      kernels::AttentionProblem problem;
      problem.shape = {1, s.heads, s.kv_heads, 1, keys, s.key_width, s.value_width, s.kv_head_of};
      problem.query = query.view();
      problem.query.data = query.view().row(b, 0, i);
      problem.cached = {cached.tiles.data(), &cached.count};
      problem.scale = static_cast<float>(c.scale), problem.softcap = static_cast<float>(c.softcap);
      problem.mask = c.mask();
      problem.mask.past = &position;
      const int64_t valid =
          c.valid_lens.empty()
              ? keys
              : std::min(keys, c.valid_lens[static_cast<size_t>(
                                   c.valid_lens_per_query ? b * s.queries + i : b)]);
      problem.mask.valid_lens = &valid;
      problem.mask.valid_lens_per_query = false;
      const int64_t live = c.query_lens.empty() || i < c.query_lens[static_cast<size_t>(b)];
      problem.mask.query_lens = &live;
      if (!bias.empty()) problem.mask.bias = broadcast(bias.data(), c.bias_sizes);
      const auto shift = [&](auto& mask) {
        if (mask) mask.data = &mask.at(b, 0, i, 0);
      };
      shift(problem.mask.bias), shift(problem.mask.keep), shift(problem.mask.forbid);
      problem.position_bias = position_bias(c, positions);
      if (!gates.empty()) problem.gates = gates.data() + (c.gates_per_sequence ? b * s.heads : 0);
      tensor::HeadsView row = output.view();
      row.data = output.view().row(b, 0, i);
      kernels::attention_forward(execution, problem, {row, {}, nullptr, nullptr});
    }
  }
  return output.values();
}

}  // namespace headlight::tests
