// The inputs of both attention operations, checked and kept for backward. Inside autograd only.
#pragma once

#include <string_view>

#include "headlight/autograd/ops/attention.h"

namespace headlight::autograd {

// What a problem of the kernels points to. `key` and `value` are absent while a cache is used.
struct AttentionInputs {
  kernels::AttentionShape shape;  // points to pruned.kv_head_of
  PrunedHeads pruned;             // original is 0: nothing was
  tensor::Tensor query, key, value;
  CachedKeyValues cached;  // counts are empty: none is used
  float scale = 1;
  float softcap = 0;
  bool causal = false;
  int64_t window = 0;
  tensor::Tensor past, valid_lens, query_lens, keep_mask, forbid_mask, bias, gates;
  kernels::PositionBias position_bias;  // points to the coefficients
  tensor::Tensor position_coefficients;
  kernels::AttentionDropout dropout;

  bool uses_cache() const noexcept { return !cached.counts.empty(); }
  kernels::AttentionProblem problem() const;
  // (B, T, H*E) or (B, H, T, E), as the query is.
  tensor::Shape output_shape() const;
};

// Query, key and value of one rank, 3 or 4, with heads and widths that fit; throws Error otherwise.
AttentionInputs checked_attention(std::string_view operation, const tensor::Tensor& query,
                                  const tensor::Tensor& key, const tensor::Tensor& value,
                                  const AttentionOptions& options);
// The same with keys and values in a cache.
AttentionInputs checked_attention(std::string_view operation, const tensor::Tensor& query,
                                  const CachedKeyValues& cache, const AttentionOptions& options);
// The same problem with the keys and values of the cache in tensors, (B, Hkv, S, D) and (B, Hkv, S,
// E): zeros where a sequence has fewer.
AttentionInputs without_cache(Context& context, const AttentionInputs& inputs);
// Completes `inputs`, whose shape, query, key and value are there: masks, bias, gates, scale, cap
// and dropout. Called by checked_attention's users once the gates are known.
void set_attention_options(Context& context, std::string_view operation, AttentionInputs& inputs,
                           const AttentionOptions& options, const Value& gates);

// The gates of the options as the Context's intervention leaves them; absent when there are none.
Value effective_gates(Context& context, const AttentionOptions& options, int64_t heads);

// The numbers of `x`, a mask, bias or bias gradient, as the kernels see them: axes of size 1
// repeat.
template <class T>
tensor::Broadcast<T> broadcast(T* numbers, const tensor::Tensor& x) {
  tensor::Broadcast<T> result{.data = numbers};
  // The axes of rank 2, 3 and 4 among batch, head, query and key.
  constexpr int kPlaces[3][4] = {{2, 3, 0, 0}, {0, 2, 3, 0}, {0, 1, 2, 3}};
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto place = static_cast<size_t>(kPlaces[x.rank() - 2][axis]);
    result.strides[place] = x.size(axis) == 1 ? 0 : x.stride(axis);
  }
  return result;
}

}  // namespace headlight::autograd
