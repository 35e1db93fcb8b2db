// Decoder: the three parts in a row.
#include "headlight/models/decoder.h"

namespace headlight::models {

using autograd::Context;
using autograd::Value;
using tensor::Tensor;

Value Decoder::forward(Context& context, const Tensor& ids, const Call& call) const {
  const Value x = embedding.forward(context, ids, {.lens = call.lens, .past = call.past});
  return layers.forward(context, x,
                        {.lens = call.lens, .memory = call.memory, .memory_lens = call.memory_lens},
                        call.caches);
}

Value last_rows(Context& context, const Value& x, const Tensor& lens) {
  const int64_t rows = x.size(1);
  Tensor indices = Tensor::uninitialized(tensor::DType::i64, {x.size(0)});
  for (int64_t b = 0; b < x.size(0); ++b) {
    const int64_t length = lens.defined() ? lens.data<int64_t>()[b] : rows;
    indices.mutable_data<int64_t>()[b] = b * rows + length - 1;
  }
  return autograd::embedding(context, indices, autograd::reshape(x, {x.size(0) * rows, x.size(2)}));
}

}  // namespace headlight::models
