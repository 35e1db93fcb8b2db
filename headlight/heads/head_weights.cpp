// Where a head's rows and columns lie.
#include "headlight/heads/head_weights.h"

namespace headlight::heads {
namespace {

using nn::MultiHeadAttention;
using tensor::ConstMatrixView;

// A layer's whole parameter as (inputs x outputs).
ConstMatrixView in_out(const nn::Linear& layer) {
  const nn::Linear::Part& part = layer.part();
  const tensor::Tensor& weight = part.weight->value().data();
  const int64_t columns = weight.size(1);
  const float* data = weight.data<float>();
  if (part.layout == nn::WeightLayout::in_out) return {data, weight.size(0), columns, columns, 1};
  return {data, columns, weight.size(0), 1, columns};
}

ConstMatrixView columns_of(const ConstMatrixView& matrix, int64_t begin, int64_t count) {
  return {matrix.data + begin * matrix.col_stride, matrix.rows, count, matrix.row_stride,
          matrix.col_stride};
}

// Where a norm is over whole rows, heads that are gone are projected on.
int64_t projected_head(const MultiHeadAttention& attention, bool is_query, int64_t head) {
  if (!attention.normalizes_whole_rows(is_query)) return head;
  const nn::HeadSet& heads = attention.heads();
  return (is_query ? heads.numbers : heads.kv_numbers)[static_cast<size_t>(head)];
}

}  // namespace

int64_t head_count(const MultiHeadAttention& attention) { return attention.heads().count(); }

int64_t head_number(const MultiHeadAttention& attention, int64_t head) {
  return attention.heads().numbers[static_cast<size_t>(head)];
}

std::string head_name(const MultiHeadAttention& attention, int64_t head) {
  return attention.options().place + "." + std::to_string(head_number(attention, head));
}

int64_t kv_head_of(const MultiHeadAttention& attention, int64_t head) {
  return attention.heads().kv_head_of[static_cast<size_t>(head)];
}

ConstMatrixView query_weight(const MultiHeadAttention& attention, int64_t head) {
  const nn::MultiHeadAttentionOptions& options = attention.options();
  const int64_t at = projected_head(attention, true, head);
  return columns_of(in_out(attention.input_layers()[0]), attention.head_begin(0, at),
                    options.head_dim);
}

ConstMatrixView key_weight(const MultiHeadAttention& attention, int64_t head) {
  const nn::MultiHeadAttentionOptions& options = attention.options();
  const int64_t at = projected_head(attention, false, kv_head_of(attention, head));
  return columns_of(in_out(attention.input_layers()[1]), attention.head_begin(1, at),
                    options.head_dim);
}

ConstMatrixView value_weight(const MultiHeadAttention& attention, int64_t head) {
  const int64_t width = attention.options().value_head_dim;
  return columns_of(in_out(attention.input_layers()[2]),
                    attention.head_begin(2, kv_head_of(attention, head)), width);
}

ConstMatrixView output_weight(const MultiHeadAttention& attention, int64_t head) {
  const int64_t width = attention.options().value_head_dim;
  return columns_of(in_out(*attention.output_layer()).transposed(), head * width, width)
      .transposed();
}

}  // namespace headlight::heads
