// Decoding: a batch of sequences that a model has read so far, ready to read on.
#pragma once

#include <span>
#include <vector>

#include "headlight/models/decoder.h"

namespace headlight::models {

// Made by Model::start(). Keys and values of what was read are kept, so that a step costs one row;
// the results are those of a whole run, to the bit. No gradients. A value: copies share what they
// have read. One thread uses it and its copies at a time.
class Decoding {
 public:
  explicit Decoding(const Decoder& decoder) : Decoding(decoder, decoder.no_caches()) {}
  Decoding(const Decoder& decoder, std::vector<nn::LayerCache> caches);

  // Reads more ids, i64 (B, T): of sequence b the first lens[b] (1 to T), or all; the first call
  // decides B. Gives the logits (B, V) after the last id read of each sequence. Throws
  // Error(bad_input) when the context's end would be passed; nothing has been read then.
  tensor::Tensor read(autograd::Context& context, const tensor::Tensor& ids,
                      const tensor::Tensor& lens = {});
  // The same without the logits: gives the last layer's hidden states (B, T, C), the input of
  // Model::logits().
  autograd::Value states(autograd::Context& context, const tensor::Tensor& ids,
                         const tensor::Tensor& lens = {});

  // Goes on with these sequences, in this order: repeated, reordered or left out.
  void select(std::span<const int64_t> sequences);
  // Adds the sequences of `other`, a decoding by the same model, behind its own. Both have read, or
  // this one has no sequences yet.
  void join(const Decoding& other);

  // Ids read of each sequence; empty before the first read().
  const std::vector<int64_t>& lengths() const noexcept { return lengths_; }
  // How many ids the longest sequence can still read.
  int64_t room() const;

  // Memory of the keys and values.
  size_t cached_bytes() const;

 private:
  const Decoder* decoder_;
  std::vector<nn::LayerCache> caches_;
  std::vector<int64_t> lengths_;
};

// What the keys and values of one sequence of `ids` ids, for a source of `source_ids`, take at
// most.
size_t cache_bytes(const nn::TransformerStack& decoder, int64_t ids, int64_t source_ids = 0);

}  // namespace headlight::models
