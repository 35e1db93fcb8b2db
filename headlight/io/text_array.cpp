// Elements as text.
#include "headlight/io/text_array.h"

#include <cmath>

#include "headlight/io/arrays.h"
#include "headlight/io/numbers.h"

namespace headlight::io {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr size_t kTextPieceBytes = size_t{1} << 16;

bool is_storage(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

}  // namespace

ElementWriter::ElementWriter(base::Output& output, const Tensor& array, Style style)
    : output_(output),
      array_((is_storage(array.dtype()) ? as_float32(array) : array).contiguous()),
      style_(style) {}

void ElementWriter::write(std::string_view text) {
  text_ += text;
  if (text_.size() >= kTextPieceBytes) finish();
}

void ElementWriter::write_element() {
  const int64_t index = next_++;
  if (array_.dtype() == DType::i64) return write(number_text(array_.data<int64_t>()[index]));
  if (array_.dtype() == DType::boolean) {
    return write(array_.data<bool>()[index] ? style_.yes : style_.no);
  }
  const float value = array_.data<float>()[index];
  write(style_.has_non_finite || std::isfinite(value) ? number_text(value) : "null");
}

void ElementWriter::finish() {
  output_.write(text_);
  text_.clear();
}

}  // namespace headlight::io
