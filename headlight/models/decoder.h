// Decoder: embedding, layers and output of what writes ids one after the other; GPT is one, an
// encoder-decoder has one.
#pragma once

#include <vector>

#include "headlight/nn/nn.h"

namespace headlight::models {

struct Decoder {
  nn::SequenceEmbedding embedding;
  nn::TransformerStack layers;
  nn::OutputLayer output;

  // ids (B, T) to hidden states (B, T, C). With caches it goes on from `past` ids of each sequence.
  struct Call {
    tensor::Tensor lens = {};
    tensor::Tensor past = {};     // i64 (B,), with caches only
    autograd::Value memory = {};  // the encoder's output, or in the caches
    tensor::Tensor memory_lens = {};
    std::vector<nn::LayerCache>* caches = nullptr;
  };
  autograd::Value forward(autograd::Context& context, const tensor::Tensor& ids,
                          const Call& call) const;

  std::vector<nn::LayerCache> no_caches() const {
    return std::vector<nn::LayerCache>(layers.blocks().size());
  }
};

// Row lens[b] - 1 (or the last) of each sequence of (B, T, C), as (B, C).
autograd::Value last_rows(autograd::Context& context, const autograd::Value& x,
                          const tensor::Tensor& lens);

}  // namespace headlight::models
