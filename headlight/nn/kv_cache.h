// KvCache: the keys and values that one attention layer has computed so far, ready for its kernel.
#pragma once

#include <span>
#include <vector>

#include "headlight/nn/parameter.h"

namespace headlight::nn {

// A batch of sequences of different lengths, each in tiles of its own: nothing is moved when one
// grows, joins or leaves. The first append() decides the number of sequences, heads and widths;
// later ones must agree.
//
// A value: copies, and sequences that were selected several times, share tiles until one of them
// writes to a tile. One thread uses a cache and its copies at a time.
class KvCache {
 public:
  // Adds rows of key (B, T, Hkv*D) and value (B, T, Hkv*E). Of sequence b only the first lens[b]
  // rows are taken; lens is i64 (B,), or absent when all rows count.
  void append(Context& context, const tensor::Tensor& key, const tensor::Tensor& value,
              int64_t kv_heads, const tensor::Tensor& lens = {});

  // Goes on with these sequences, in this order: repeated, reordered or left out.
  void select(std::span<const int64_t> sequences);
  // Adds the sequences of `other`, which is of the same layer, behind its own.
  void join(const KvCache& other);

  bool empty() const noexcept { return count() == 0; }
  int64_t count() const noexcept;  // of the longest sequence
  // i64 (B,). Not defined before the first append(). An append() makes a new tensor and leaves the
  // old one as it was.
  const tensor::Tensor& lengths() const noexcept { return lengths_; }
  int64_t kv_heads() const noexcept { return kv_heads_; }

  // What autograd::cached_attention reads; valid until the next append() or select().
  autograd::CachedKeyValues view() const;

  // Memory that it holds; tiles that several of its sequences share count once.
  size_t bytes() const;
  // What one sequence of `count` keys and values takes.
  static size_t bytes_of(int64_t count, int64_t kv_heads, int64_t key_width, int64_t value_width);

 private:
  struct Sequence {
    int64_t length = 0;
    std::vector<tensor::Block> tiles = {};  // the keys of all heads, then the values
  };

  // Rows of one sequence and head that are added behind the first `length`.
  struct AppendedRows {
    const float* keys;
    int64_t key_stride;
    const float* values;
    int64_t value_stride;
    int64_t first;
    int64_t count;
  };

  void check(const tensor::Tensor& key, const tensor::Tensor& value, int64_t kv_heads,
             const tensor::Tensor& lens) const;
  size_t tile_bytes() const { return bytes_of(1, kv_heads_, key_width_, value_width_); }
  kernels::CachedTile tile(const tensor::Block& block) const;
  void make_room(Sequence& sequence, int64_t added) const;
  void write(const Sequence& sequence, int64_t head, const AppendedRows& rows) const;
  void set_lengths();

  int64_t kv_heads_ = 0;
  int64_t key_width_ = 0;
  int64_t value_width_ = 0;
  std::vector<Sequence> sequences_;
  tensor::Tensor lengths_;
};

}  // namespace headlight::nn
