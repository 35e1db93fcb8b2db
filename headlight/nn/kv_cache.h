// KvCache: the keys and values that one attention layer has computed so far, ready for its kernel.
#pragma once

#include <span>

#include "headlight/nn/parameter.h"

namespace headlight::nn {

// A batch of sequences of different lengths. The first append() decides the number of sequences,
// heads and widths; later ones must agree. It grows by doubling. One thread uses it at a time.
class KvCache {
 public:
  // Adds rows of key (B, T, Hkv*D) and value (B, T, Hkv*E). Of sequence b only the first lens[b]
  // rows are taken; lens is i64 (B,), or absent when all rows count.
  void append(Context& context, const tensor::Tensor& key, const tensor::Tensor& value,
              int64_t kv_heads, const tensor::Tensor& lens = {});

  // Goes on with these sequences, in this order: repeated, reordered or left out.
  void select(std::span<const int64_t> sequences);

  bool empty() const noexcept { return count_ == 0; }
  int64_t count() const noexcept { return count_; }  // of the longest sequence
  // i64 (B,). Not defined before the first append(). An append() makes a new tensor and leaves the
  // old one as it was.
  const tensor::Tensor& lengths() const noexcept { return lengths_; }
  int64_t kv_heads() const noexcept { return kv_heads_; }

  // What autograd::cached_attention reads; valid until the next append() or select().
  autograd::CachedKeyValues view() const;

 private:
  void check(const tensor::Tensor& key, const tensor::Tensor& value, int64_t kv_heads,
             const tensor::Tensor& lens) const;
  void reserve(int64_t count);

  int64_t batch_ = 0;
  int64_t kv_heads_ = 0;
  int64_t key_width_ = 0;
  int64_t value_width_ = 0;
  int64_t count_ = 0;
  int64_t capacity_ = 0;   // a multiple of kernels::kKeyTile
  tensor::Tensor packed_;  // (B, Hkv, packed_keys_size(capacity))
  tensor::Tensor values_;  // (B, Hkv, capacity, E)
  tensor::Tensor lengths_;
  // What the last select() moved away from, for the next one to move to: beams are selected at each
  // step, and new memory would cost more than the copying.
  tensor::Tensor spare_packed_;
  tensor::Tensor spare_values_;
};

}  // namespace headlight::nn
