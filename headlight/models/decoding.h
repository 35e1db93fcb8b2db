// Decoding: a batch of sequences that a model has read so far, ready to read on.
#pragma once

#include <span>
#include <vector>

#include "headlight/models/decoder.h"

namespace headlight::models {

// Made by Model::start(). Keys and values of what was read are kept, so that a step costs one row;
// the results are those of a whole run, to the bit. No gradients. One thread uses it at a time.
class Decoding {
 public:
  explicit Decoding(const Decoder& decoder) : Decoding(decoder, decoder.no_caches()) {}
  Decoding(const Decoder& decoder, std::vector<nn::LayerCache> caches);

  // Reads more ids, i64 (B, T): of sequence b the first lens[b] (1 to T), or all; the first call
  // decides B. Gives the logits (B, V) after the last id read of each sequence. Throws
  // Error(bad_input) when the context's end would be passed; nothing has been read then.
  tensor::Tensor read(autograd::Context& context, const tensor::Tensor& ids,
                      const tensor::Tensor& lens = {});

  // Goes on with these sequences, in this order: repeated, reordered or left out.
  void select(std::span<const int64_t> sequences);

  // Ids read of each sequence; empty before the first read().
  const std::vector<int64_t>& lengths() const noexcept { return lengths_; }
  // How many ids the longest sequence can still read.
  int64_t room() const;

 private:
  const Decoder* decoder_;
  std::vector<nn::LayerCache> caches_;
  std::vector<int64_t> lengths_;
  std::vector<int64_t> sources_;  // which of the first ones each comes from; empty before select()
};

}  // namespace headlight::models
