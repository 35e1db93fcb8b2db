// The matrices of single heads, as they lie in a module's parameters; names and numbers of heads.
// For heads' own use.
#pragma once

#include <string>

#include "headlight/nn/nn.h"

namespace headlight::heads {

// How many heads there are. They are counted from 0 here; where some have been pruned, their
// numbers are others, and so are their names, "decoder.0.self.3": all that experiments give come
// from here.
int64_t head_count(const nn::MultiHeadAttention& attention);
int64_t head_number(const nn::MultiHeadAttention& attention, int64_t head);
std::string head_name(const nn::MultiHeadAttention& attention, int64_t head);
// The key/value head that a query head reads, counted from 0 too.
int64_t kv_head_of(const nn::MultiHeadAttention& attention, int64_t head);

// (C x D) of query and key, (C x E) of value, (E x C) of the output: what a row x becomes is x * W.
// Views of the parameters. There must be an output layer.
tensor::ConstMatrixView query_weight(const nn::MultiHeadAttention& attention, int64_t head);
tensor::ConstMatrixView key_weight(const nn::MultiHeadAttention& attention, int64_t head);
tensor::ConstMatrixView value_weight(const nn::MultiHeadAttention& attention, int64_t head);
tensor::ConstMatrixView output_weight(const nn::MultiHeadAttention& attention, int64_t head);

}  // namespace headlight::heads
