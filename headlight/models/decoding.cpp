// Decoding: caches and lengths that go together.
#include "headlight/models/decoding.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "headlight/base/base.h"

namespace headlight::models {

using autograd::Context;
using autograd::Value;
using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Tensor;

namespace {

[[noreturn]] void refuse_decoding(const char* where, const std::string& why) {
  throw Error(ErrorKind::bad_input, "decoding", where, why);
}

// The number of ids that each sequence reads, 1 to T.
std::vector<int64_t> counts_of(const Tensor& ids, const Tensor& lens) {
  if (!ids.defined() || ids.dtype() != DType::i64 || ids.rank() != 2 || ids.size(1) < 1) {
    refuse_decoding("ids", "int64 (B, T) with at least one id is needed");
  }
  std::vector<int64_t> counts(static_cast<size_t>(ids.size(0)), ids.size(1));
  if (!lens.defined()) return counts;
  if (lens.dtype() != DType::i64 || lens.shape() != tensor::Shape{ids.size(0)} ||
      !lens.is_contiguous()) {
    refuse_decoding("lengths", "are " + lens.shape().text() + " for ids " + ids.shape().text());
  }
  std::copy_n(lens.data<int64_t>(), counts.size(), counts.begin());
  for (const int64_t count : counts) {
    if (count >= 1 && count <= ids.size(1)) continue;
    refuse_decoding("lengths",
                    std::to_string(count) + " is not within 1 and " + std::to_string(ids.size(1)));
  }
  return counts;
}

}  // namespace

Decoding::Decoding(const Decoder& decoder, std::vector<nn::LayerCache> caches)
    : decoder_(&decoder), caches_(std::move(caches)) {}

int64_t Decoding::room() const {
  const auto longest = std::max_element(lengths_.begin(), lengths_.end());
  return decoder_->embedding.max_length() - (longest == lengths_.end() ? 0 : *longest);
}

size_t Decoding::cached_bytes() const {
  size_t bytes = 0;
  for (const nn::LayerCache& cache : caches_) bytes += cache.self.bytes() + cache.cross.bytes();
  return bytes;
}

Value Decoding::states(Context& context, const Tensor& ids, const Tensor& lens) {
  const std::vector<int64_t> counts = counts_of(ids, lens);
  std::vector<int64_t> lengths = lengths_;
  if (lengths.empty()) lengths.resize(counts.size());
  if (counts.size() != lengths.size()) {
    refuse_decoding("ids", std::to_string(counts.size()) + " sequences, decoding goes on with " +
                               std::to_string(lengths.size()));
  }
  const Tensor past = Tensor::of({ids.size(0)}, lengths);
  const Value output =
      decoder_->forward(context, ids, {.lens = lens, .past = past, .caches = &caches_});
  std::transform(lengths.begin(), lengths.end(), counts.begin(), lengths.begin(), std::plus());
  lengths_ = std::move(lengths);
  return output;
}

Tensor Decoding::read(Context& context, const Tensor& ids, const Tensor& lens) {
  const Value output = states(context, ids, lens);
  return decoder_->output.logits(context, last_rows(context, output, lens)).data();
}

void Decoding::select(std::span<const int64_t> sequences) {
  std::vector<int64_t> lengths;
  for (const int64_t sequence : sequences) {
    if (sequence < 0 || sequence >= static_cast<int64_t>(lengths_.size())) {
      refuse_decoding("sequences", "there is no sequence " + std::to_string(sequence) + " among " +
                                       std::to_string(lengths_.size()));
    }
    lengths.push_back(lengths_[static_cast<size_t>(sequence)]);
  }
  for (nn::LayerCache& cache : caches_) {
    // Attention without heads has kept nothing.
    if (cache.self.lengths().defined()) cache.self.select(sequences);
    if (cache.cross.lengths().defined()) cache.cross.select(sequences);
  }
  lengths_ = std::move(lengths);
}

void Decoding::join(const Decoding& other) {
  if (decoder_ != other.decoder_) refuse_decoding("sequences", "are read by another model");
  if (lengths_.empty()) {
    *this = other;
    return;
  }
  if (other.lengths_.empty()) refuse_decoding("sequences", "that join have read nothing yet");
  for (size_t layer = 0; layer < caches_.size(); ++layer) {
    caches_[layer].self.join(other.caches_[layer].self);
    caches_[layer].cross.join(other.caches_[layer].cross);
  }
  lengths_.insert(lengths_.end(), other.lengths_.begin(), other.lengths_.end());
}

size_t cache_bytes(const nn::TransformerStack& decoder, int64_t ids, int64_t source_ids) {
  size_t bytes = 0;
  const auto add = [&bytes](const nn::MultiHeadAttention& attention, int64_t count) {
    const nn::MultiHeadAttentionOptions& options = attention.options();
    bytes += nn::KvCache::bytes_of(count, attention.heads().kv_count(), options.head_dim,
                                   options.value_head_dim);
  };
  for (const nn::TransformerBlock& block : decoder.blocks()) {
    add(block.self(), ids);
    if (block.cross() != nullptr) add(*block.cross(), source_ids);
  }
  return bytes;
}

}  // namespace headlight::models
