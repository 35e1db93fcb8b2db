// KvCache: packed keys and rows of values that grow together, in tiles.
#include "headlight/nn/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>

namespace headlight::nn {
namespace {

using base::Error;
using base::ErrorKind;
using kernels::kKeyTile;
using tensor::DType;
using tensor::Tensor;

[[noreturn]] void refuse_cache(const char* where, const std::string& why) {
  throw Error(ErrorKind::bad_input, "key/value cache", where, why);
}

int64_t tiles_for(int64_t count) { return (count + kKeyTile - 1) / kKeyTile; }

}  // namespace

void KvCache::check(const Tensor& key, const Tensor& value, int64_t kv_heads,
                    const Tensor& lens) const {
  const auto text = [](const Tensor& tensor) { return tensor.shape().text(); };
  if (key.rank() != 3 || value.rank() != 3 || kv_heads < 1 || key.size(2) % kv_heads != 0 ||
      value.size(2) % kv_heads != 0) {
    refuse_cache("key", text(key) + " and value " + text(value) + " are not (B, T, width) of " +
                            std::to_string(kv_heads) + " heads");
  }
  if (key.size(0) != value.size(0) || key.size(1) != value.size(1)) {
    refuse_cache("value", "is " + text(value) + ", the key is " + text(key));
  }
  if (lengths_.defined() &&
      (key.size(0) != lengths_.size(0) || kv_heads != kv_heads_ ||
       key.size(2) != kv_heads * key_width_ || value.size(2) != kv_heads * value_width_)) {
    refuse_cache("key", text(key) + " and value " + text(value) + " in " +
                            std::to_string(kv_heads) + " heads do not continue " +
                            std::to_string(lengths_.size(0)) + " sequences of " +
                            std::to_string(kv_heads_) + " heads of widths " +
                            std::to_string(key_width_) + " and " + std::to_string(value_width_));
  }
  if (!lens.defined()) return;
  if (lens.dtype() != DType::i64 || lens.shape() != tensor::Shape{key.size(0)} ||
      !lens.is_contiguous()) {
    refuse_cache("lengths", std::string(name_of(lens.dtype())) + " " + text(lens) + ", int64 [" +
                                std::to_string(key.size(0)) + "] is needed");
  }
  for (int64_t b = 0; b < key.size(0); ++b) {
    const int64_t length = lens.data<int64_t>()[b];
    if (length < 0 || length > key.size(1)) {
      refuse_cache("lengths", std::to_string(length) + " at position " + std::to_string(b) +
                                  " is not within 0 and " + std::to_string(key.size(1)));
    }
  }
}

int64_t KvCache::count() const noexcept {
  int64_t longest = 0;
  for (const Sequence& sequence : sequences_) longest = std::max(longest, sequence.length);
  return longest;
}

void KvCache::set_lengths() {
  lengths_ = Tensor::uninitialized(DType::i64, {static_cast<int64_t>(sequences_.size())});
  std::ranges::transform(sequences_, lengths_.mutable_data<int64_t>(), &Sequence::length);
}

kernels::CachedTile KvCache::tile(const tensor::Block& block) const {
  const auto* keys = reinterpret_cast<const float*>(block.get());
  return {.keys = keys,
          .values = keys + kv_heads_ * kernels::packed_keys_size(kKeyTile, key_width_)};
}

// The tiles that the next rows go to are there, and nobody else's.
void KvCache::make_room(Sequence& sequence, int64_t added) const {
  const int64_t last = tiles_for(sequence.length + added);
  for (int64_t i = sequence.length / kKeyTile; i < last; ++i) {
    const bool is_new = i == static_cast<int64_t>(sequence.tiles.size());
    if (!is_new && sequence.tiles[static_cast<size_t>(i)].use_count() == 1) continue;
    const tensor::Block block = tensor::allocate_block(tile_bytes());
    if (is_new) {
      sequence.tiles.push_back(block);
    } else {
      tensor::Block& shared = sequence.tiles[static_cast<size_t>(i)];
      std::memcpy(block.get(), shared.get(), tile_bytes());
      shared = block;
    }
  }
}

void KvCache::write(const Sequence& sequence, int64_t head, const AppendedRows& rows) const {
  const int64_t keys_of_head = kernels::packed_keys_size(kKeyTile, key_width_);
  for (int64_t done = 0; done < rows.count;) {
    const int64_t position = rows.first + done;
    const int64_t within = position % kKeyTile;
    const int64_t count = std::min(rows.count - done, kKeyTile - within);
    auto* keys =
        reinterpret_cast<float*>(sequence.tiles[static_cast<size_t>(position / kKeyTile)].get());
    float* values = keys + kv_heads_ * keys_of_head + (head * kKeyTile + within) * value_width_;
    kernels::append_packed_keys(rows.keys + done * rows.key_stride, rows.key_stride, count,
                                key_width_, within, keys + head * keys_of_head);
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(rows.values + (done + i) * rows.value_stride, value_width_,
                  values + i * value_width_);
    }
    done += count;
  }
}

void KvCache::append(Context& context, const Tensor& key, const Tensor& value, int64_t kv_heads,
                     const Tensor& lens) {
  check(key, value, kv_heads, lens);
  if (!lengths_.defined()) {
    kv_heads_ = kv_heads;
    key_width_ = key.size(2) / kv_heads;
    value_width_ = value.size(2) / kv_heads;
    sequences_.resize(static_cast<size_t>(key.size(0)));
  }
  const auto added = [&](int64_t b) {
    return lens.defined() ? lens.data<int64_t>()[b] : key.size(1);
  };
  for (int64_t b = 0; b < key.size(0); ++b) make_room(sequences_[static_cast<size_t>(b)], added(b));
  const tensor::ConstHeadsView keys = key.heads(kv_heads);
  const tensor::ConstHeadsView values = value.heads(kv_heads);
  context.threads.parallel_for(key.size(0) * kv_heads_, [&](int64_t index, int /*worker*/) {
    const int64_t b = index / kv_heads_;
    const int64_t head = index % kv_heads_;
    const Sequence& sequence = sequences_[static_cast<size_t>(b)];
    write(sequence, head,
          {.keys = keys.row(b, head, 0),
           .key_stride = keys.row_stride,
           .values = values.row(b, head, 0),
           .value_stride = values.row_stride,
           .first = sequence.length,
           .count = added(b)});
  });
  for (int64_t b = 0; b < key.size(0); ++b) sequences_[static_cast<size_t>(b)].length += added(b);
  set_lengths();
}

void KvCache::select(std::span<const int64_t> sequences) {
  if (!lengths_.defined()) refuse_cache("sequences", "there are none yet to select from");
  std::vector<Sequence> selected;
  for (const int64_t sequence : sequences) {
    if (sequence < 0 || sequence >= static_cast<int64_t>(sequences_.size())) {
      refuse_cache("sequences", "there is no sequence " + std::to_string(sequence) + " among " +
                                    std::to_string(sequences_.size()));
    }
    selected.push_back(sequences_[static_cast<size_t>(sequence)]);
  }
  sequences_ = std::move(selected);
  set_lengths();
}

void KvCache::join(const KvCache& other) {
  if (!other.lengths_.defined()) return;
  if (!lengths_.defined()) {
    *this = other;
    return;
  }
  if (other.kv_heads_ != kv_heads_ || other.key_width_ != key_width_ ||
      other.value_width_ != value_width_) {
    refuse_cache("sequences", "of " + std::to_string(other.kv_heads_) + " heads of widths " +
                                  std::to_string(other.key_width_) + " and " +
                                  std::to_string(other.value_width_) + " cannot join " +
                                  std::to_string(kv_heads_) + " heads of widths " +
                                  std::to_string(key_width_) + " and " +
                                  std::to_string(value_width_));
  }
  sequences_.insert(sequences_.end(), other.sequences_.begin(), other.sequences_.end());
  set_lengths();
}

autograd::CachedKeyValues KvCache::view() const {
  autograd::CachedKeyValues view{
      .kv_heads = kv_heads_, .key_width = key_width_, .value_width = value_width_};
  const auto tiles = static_cast<size_t>(tiles_for(count()));
  for (const Sequence& sequence : sequences_) {
    view.counts.push_back(sequence.length);
    for (size_t i = 0; i < tiles; ++i) {
      const bool is_there = i < sequence.tiles.size();
      view.tiles.push_back(is_there ? tile(sequence.tiles[i]) : kernels::CachedTile{});
    }
  }
  return view;
}

size_t KvCache::bytes() const {
  std::set<const std::byte*> tiles;
  for (const Sequence& sequence : sequences_) {
    for (const tensor::Block& block : sequence.tiles) tiles.insert(block.get());
  }
  return tiles.size() * tile_bytes();
}

size_t KvCache::bytes_of(int64_t count, int64_t kv_heads, int64_t key_width, int64_t value_width) {
  const int64_t numbers = kv_heads * tiles_for(count) * kKeyTile * (key_width + value_width);
  return static_cast<size_t>(numbers) * sizeof(float);
}

}  // namespace headlight::nn
