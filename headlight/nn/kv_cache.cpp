// KvCache: packed keys and rows of values that grow together.
#include "headlight/nn/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

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

// Copies the first `floats` numbers of each sequence and head (axes 0 and 1) of `from`.
void copy_heads(const Tensor& from, Tensor& to, int64_t floats) {
  for (int64_t b = 0; b < to.size(0); ++b) {
    for (int64_t h = 0; h < to.size(1); ++h) {
      std::memcpy(to.mutable_data<float>() + b * to.stride(0) + h * to.stride(1),
                  from.data<float>() + b * from.stride(0) + h * from.stride(1),
                  static_cast<size_t>(floats) * sizeof(float));
    }
  }
}

// Memory for `batch` sequences such as those of `like`: the spare's where it fits.
Tensor room_for(const Tensor& spare, const Tensor& like, int64_t batch) {
  const bool fits = spare.defined() && spare.size(0) >= batch &&
                    spare.shape() == like.shape().with(0, spare.size(0));
  return fits ? spare.slice(0, 0, batch)
              : Tensor::uninitialized(DType::f32, like.shape().with(0, batch));
}

void copy_sequence(const Tensor& from, int64_t source, Tensor& to, int64_t target) {
  const Tensor sequence = from.slice(0, source, 1);
  std::byte* place = to.slice(0, target, 1).mutable_raw();
  if (place != sequence.raw()) std::memcpy(place, sequence.raw(), sequence.bytes());
}

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
      (key.size(0) != batch_ || kv_heads != kv_heads_ || key.size(2) != kv_heads * key_width_ ||
       value.size(2) != kv_heads * value_width_)) {
    refuse_cache("key", text(key) + " and value " + text(value) + " in " +
                            std::to_string(kv_heads) + " heads do not continue " +
                            std::to_string(batch_) + " sequences of " + std::to_string(kv_heads_) +
                            " heads of widths " + std::to_string(key_width_) + " and " +
                            std::to_string(value_width_));
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

// Zeros where nothing has been written, so that what is shown of unequal sequences is the same each
// time.
void KvCache::reserve(int64_t count) {
  if (count <= capacity_) return;
  const int64_t wanted = std::max(count, 2 * capacity_);
  const int64_t capacity = (wanted + kKeyTile - 1) / kKeyTile * kKeyTile;
  Tensor packed = Tensor::zeros(
      DType::f32, {batch_, kv_heads_, kernels::packed_keys_size(capacity, key_width_)});
  Tensor values = Tensor::zeros(DType::f32, {batch_, kv_heads_, capacity, value_width_});
  if (capacity_ > 0) {
    copy_heads(packed_, packed, kernels::packed_keys_size(count_, key_width_));
    copy_heads(values_, values, count_ * value_width_);
  }
  packed_ = packed;
  values_ = values;
  capacity_ = capacity;
  spare_packed_ = {};
  spare_values_ = {};
}

void KvCache::append(Context& context, const Tensor& key, const Tensor& value, int64_t kv_heads,
                     const Tensor& lens) {
  check(key, value, kv_heads, lens);
  if (!lengths_.defined()) {
    batch_ = key.size(0);
    kv_heads_ = kv_heads;
    key_width_ = key.size(2) / kv_heads;
    value_width_ = value.size(2) / kv_heads;
    lengths_ = Tensor::zeros(DType::i64, {batch_});
  }
  Tensor lengths = Tensor::uninitialized(DType::i64, {batch_});
  int64_t longest = count_;
  for (int64_t b = 0; b < batch_; ++b) {
    const int64_t added = lens.defined() ? lens.data<int64_t>()[b] : key.size(1);
    lengths.mutable_data<int64_t>()[b] = lengths_.data<int64_t>()[b] + added;
    longest = std::max(longest, lengths.data<int64_t>()[b]);
  }
  reserve(std::max<int64_t>(longest, 1));
  const tensor::ConstHeadsView keys = key.heads(kv_heads);
  const tensor::ConstHeadsView values = value.heads(kv_heads);
  context.threads.parallel_for(batch_ * kv_heads_, [&](int64_t index, int /*worker*/) {
    const int64_t b = index / kv_heads_;
    const int64_t h = index % kv_heads_;
    const int64_t first = lengths_.data<int64_t>()[b];
    const int64_t added = lengths.data<int64_t>()[b] - first;
    kernels::append_packed_keys(keys.row(b, h, 0), keys.row_stride, added, key_width_, first,
                                packed_.mutable_data<float>() + index * packed_.size(2));
    float* to = values_.mutable_data<float>() + (index * capacity_ + first) * value_width_;
    for (int64_t i = 0; i < added; ++i, to += value_width_) {
      std::copy_n(values.row(b, h, i), value_width_, to);
    }
  });
  lengths_ = lengths;
  count_ = longest;
}

void KvCache::select(std::span<const int64_t> sequences) {
  if (!lengths_.defined()) refuse_cache("sequences", "there are none yet to select from");
  for (const int64_t sequence : sequences) {
    if (sequence >= 0 && sequence < batch_) continue;
    refuse_cache("sequences", "there is no sequence " + std::to_string(sequence) + " among " +
                                  std::to_string(batch_));
  }
  const auto batch = static_cast<int64_t>(sequences.size());
  // Where some only leave, the others move up in place.
  const bool in_place =
      std::ranges::adjacent_find(sequences, std::greater_equal<>()) == sequences.end();
  Tensor packed = room_for(in_place ? packed_ : spare_packed_, packed_, batch);
  Tensor values = room_for(in_place ? values_ : spare_values_, values_, batch);
  Tensor lengths = Tensor::uninitialized(DType::i64, {batch});
  count_ = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t source = sequences[static_cast<size_t>(b)];
    copy_sequence(packed_, source, packed, b);
    copy_sequence(values_, source, values, b);
    lengths.mutable_data<int64_t>()[b] = lengths_.data<int64_t>()[source];
    count_ = std::max(count_, lengths.data<int64_t>()[b]);
  }
  if (!in_place) {
    spare_packed_ = packed_;
    spare_values_ = values_;
  }
  packed_ = packed;
  values_ = values;
  lengths_ = lengths;
  batch_ = batch;
}

autograd::CachedKeyValues KvCache::view() const {
  return {.keys = {packed_.data<float>(), packed_.stride(0), packed_.stride(1)},
          .key_width = key_width_,
          .values = values_.slice(2, 0, count_)};
}

}  // namespace headlight::nn
