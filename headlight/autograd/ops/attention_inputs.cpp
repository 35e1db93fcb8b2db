// Query, key and value of attention: checked, and translated for the kernels.
#include "headlight/autograd/ops/attention_inputs.h"

#include <algorithm>
#include <string>

#include "headlight/autograd/checks.h"

namespace headlight::autograd {
namespace {

using tensor::Shape;
using tensor::Tensor;

void check_heads_tensor(std::string_view operation, std::string_view input, const Tensor& x,
                        int rank) {
  check_type(operation, input, x, tensor::DType::f32);
  if (x.rank() != rank) {
    refuse(operation, input,
           "shape is " + x.shape().text() + ", rank " + std::to_string(rank) + " is needed");
  }
  if (x.stride(-1) != 1 && x.size(-1) > 1) {
    refuse(operation, input, "shape " + x.shape().text() + " has a last axis that is not adjacent");
  }
}

// Width of one head.
int64_t head_width(std::string_view operation, std::string_view input, const Tensor& x,
                   int64_t heads) {
  if (x.rank() == 4) return x.size(3);
  if (x.size(2) % heads != 0) {
    refuse(operation, input,
           "width " + std::to_string(x.size(2)) + " cannot be split into " + std::to_string(heads) +
               " heads; " + base::nearest_divisors(x.size(2), heads) + " would do");
  }
  return x.size(2) / heads;
}

// The number of heads: the given one for rank 3, its own for rank 4; `unset` is not given.
int64_t head_count(std::string_view operation, std::string_view input, const Tensor& x,
                   int64_t given, int64_t unset) {
  if (x.rank() == 3) return given;
  if (given != unset && given != x.size(1)) {
    refuse(operation, input,
           "shape is " + x.shape().text() + ", " + std::to_string(given) + " heads are asked for");
  }
  return x.size(1);
}

void check_query(std::string_view operation, const Tensor& query, const AttentionOptions& options) {
  if (query.defined() && query.rank() != 3 && query.rank() != 4) {
    refuse(operation, "query", "shape is " + query.shape().text() + ", rank 3 or 4 is needed");
  }
  check_heads_tensor(operation, "query", query, query.defined() ? query.rank() : 3);
  if (options.heads < 1 || options.kv_heads < 0) {
    refuse(operation, "heads",
           std::to_string(options.heads) + " heads and " + std::to_string(options.kv_heads) +
               " key/value heads, at least 1 is needed");
  }
}

// A number for each head, ascending.
void check_numbers_of_heads(std::string_view operation, std::string_view input, const Tensor& x,
                            int64_t heads) {
  check_type(operation, input, x, tensor::DType::i64);
  if (x.shape() != Shape{heads} || !x.is_contiguous()) {
    refuse(operation, input,
           "shape is " + x.shape().text() + ", " + Shape{heads}.text() + " is needed");
  }
}

// From 0 on, ascending, none left out.
void check_readers(std::string_view operation, const Tensor& kv_head_of, int64_t heads,
                   int64_t kv_heads) {
  check_numbers_of_heads(operation, "kv_head_of", kv_head_of, heads);
  const int64_t* of = kv_head_of.data<int64_t>();
  bool fits = heads > 0 && of[0] == 0 && of[heads - 1] == kv_heads - 1;
  for (int64_t h = 1; fits && h < heads; ++h) fits = of[h] == of[h - 1] || of[h] == of[h - 1] + 1;
  if (fits) return;
  refuse(operation, "kv_head_of",
         "each of " + std::to_string(kv_heads) +
             " key/value heads must have a reader, in ascending order");
}

// Who reads which key/value head, and what heads are called.
void set_groups(std::string_view operation, AttentionInputs& inputs,
                const AttentionOptions& options) {
  const int64_t heads = inputs.shape.heads;
  const int64_t kv_heads = inputs.shape.kv_heads;
  if (options.pruned != nullptr) inputs.pruned = *options.pruned;
  const PrunedHeads& pruned = inputs.pruned;
  if (pruned.kv_head_of.defined()) {
    check_readers(operation, pruned.kv_head_of, heads, kv_heads);
    inputs.shape.kv_head_of = pruned.kv_head_of.data<int64_t>();
  } else if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0) {
    refuse(operation, "kv_heads",
           std::to_string(heads) + " heads cannot share " + std::to_string(kv_heads) +
               " key/value heads evenly");
  }
  if (options.pruned == nullptr) return;
  check_numbers_of_heads(operation, "pruned", pruned.numbers, heads);
  check_numbers_of_heads(operation, "pruned", pruned.kv_numbers, kv_heads);
}

void check_equal(std::string_view operation, std::string_view input, const char* what, int64_t size,
                 std::string_view other, int64_t expected) {
  if (size == expected) return;
  refuse(operation, input,
         std::string(what) + " is " + std::to_string(size) + ", " + std::string(other) + " has " +
             std::to_string(expected));
}

int64_t tiles_of(int64_t keys) { return (keys + kernels::kKeyTile - 1) / kernels::kKeyTile; }

template <class T>
const T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

}  // namespace

kernels::AttentionProblem AttentionInputs::problem() const {
  kernels::AttentionProblem problem;
  problem.shape = shape;
  problem.query = query.heads(shape.heads);
  if (key.defined()) problem.key = key.heads(shape.kv_heads);
  if (value.defined()) problem.value = value.heads(shape.kv_heads);
  if (uses_cache()) problem.cached = {cached.tiles.data(), cached.counts.data()};
  problem.scale = scale;
  problem.softcap = softcap;
  problem.position_bias = position_bias;
  problem.gates = data_or_null<float>(gates);
  problem.gate_batch_stride = gates.defined() && gates.rank() == 2 ? shape.heads : 0;
  problem.dropout = dropout;
  kernels::AttentionMask& mask = problem.mask;
  mask.causal = causal;
  mask.window = window;
  mask.past = data_or_null<int64_t>(past);
  mask.valid_lens = data_or_null<int64_t>(valid_lens);
  mask.valid_lens_per_query = valid_lens.defined() && valid_lens.rank() == 2;
  mask.query_lens = data_or_null<int64_t>(query_lens);
  if (keep_mask.defined()) mask.keep = broadcast(keep_mask.data<bool>(), keep_mask);
  if (forbid_mask.defined()) mask.forbid = broadcast(forbid_mask.data<bool>(), forbid_mask);
  if (bias.defined()) mask.bias = broadcast(bias.data<float>(), bias);
  return problem;
}

Shape AttentionInputs::output_shape() const {
  if (query.rank() == 3) return {shape.batch, shape.queries, shape.heads * shape.value_width};
  return {shape.batch, shape.heads, shape.queries, shape.value_width};
}

AttentionInputs checked_attention(std::string_view operation, const Tensor& query,
                                  const Tensor& key, const Tensor& value,
                                  const AttentionOptions& options) {
  check_query(operation, query, options);
  check_heads_tensor(operation, "key", key, query.rank());
  check_heads_tensor(operation, "value", value, query.rank());
  AttentionInputs inputs;
  inputs.query = query;
  inputs.key = key;
  inputs.value = value;
  kernels::AttentionShape& s = inputs.shape;
  const int row_axis = query.rank() - 2;
  s.heads = head_count(operation, "query", query, options.heads, 1);
  s.kv_heads = head_count(operation, "key", key, options.kv_heads, 0);
  if (s.kv_heads == 0 && key.rank() == 3) s.kv_heads = s.heads;
  set_groups(operation, inputs, options);
  if (value.rank() == 4) {
    check_equal(operation, "value", "the number of heads", value.size(1), "the key", s.kv_heads);
  }
  s.batch = query.size(0);
  check_equal(operation, "key", "the batch", key.size(0), "the query", s.batch);
  check_equal(operation, "value", "the batch", value.size(0), "the query", s.batch);
  s.queries = query.size(row_axis);
  s.keys = key.size(row_axis);
  check_equal(operation, "value", "the number of rows", value.size(row_axis), "the key", s.keys);
  s.key_width = head_width(operation, "query", query, s.heads);
  check_equal(operation, "key", "the width of a head",
              head_width(operation, "key", key, s.kv_heads), "the query", s.key_width);
  s.value_width = head_width(operation, "value", value, s.kv_heads);
  return inputs;
}

AttentionInputs checked_attention(std::string_view operation, const Tensor& query,
                                  const CachedKeyValues& cache, const AttentionOptions& options) {
  check_query(operation, query, options);
  AttentionInputs inputs;
  inputs.query = query;
  inputs.cached = cache;
  kernels::AttentionShape& s = inputs.shape;
  s.heads = head_count(operation, "query", query, options.heads, 1);
  s.kv_heads = cache.kv_heads;
  if (options.kv_heads != 0) {
    check_equal(operation, "cache", "the number of heads", cache.kv_heads, "the layer",
                options.kv_heads);
  }
  set_groups(operation, inputs, options);
  s.batch = query.size(0);
  check_equal(operation, "cache", "the batch", static_cast<int64_t>(cache.counts.size()),
              "the query", s.batch);
  s.queries = query.size(query.rank() - 2);
  for (const int64_t count : cache.counts) s.keys = std::max(s.keys, count);
  check_equal(operation, "cache", "the number of tiles", static_cast<int64_t>(cache.tiles.size()),
              "a batch of this length", s.batch * tiles_of(s.keys));
  s.key_width = head_width(operation, "query", query, s.heads);
  check_equal(operation, "keys", "the width of a head", cache.key_width, "the query", s.key_width);
  s.value_width = cache.value_width;
  return inputs;
}

AttentionInputs without_cache(Context& context, const AttentionInputs& inputs) {
  const kernels::AttentionShape& s = inputs.shape;
  AttentionInputs plain = inputs;
  plain.cached = {};
  plain.key = zeros(context, {s.batch, s.kv_heads, s.keys, s.key_width});
  plain.value = zeros(context, {s.batch, s.kv_heads, s.keys, s.value_width});
  const kernels::CachedKeys cached = inputs.problem().cached;
  for (int64_t head = 0; head < s.batch * s.kv_heads; ++head) {
    const int64_t b = head / s.kv_heads, g = head % s.kv_heads;
    for (int64_t first = 0; first < cached.counts[b]; first += kernels::kKeyTile) {
      const kernels::CachedTile& tile = cached.tile(s, b, first / kernels::kKeyTile);
      const int64_t count = std::min(kernels::kKeyTile, cached.counts[b] - first);
      const int64_t row = head * s.keys + first;
      kernels::unpack_keys(tile.keys_of(s, g), count, s.key_width,
                           plain.key.mutable_data<float>() + row * s.key_width);
      std::copy_n(tile.values_of(s, g), count * s.value_width,
                  plain.value.mutable_data<float>() + row * s.value_width);
    }
  }
  return plain;
}

}  // namespace headlight::autograd
