// Any bytes as a .csv file: a matrix, which comes back when it is written, or an Error.
#include <cmath>

#include "headlight/io/csv.h"
#include "headlight/io/io.h"
#include "tests/fuzz/trapped.h"
#include "tests/io/string_output.h"

namespace {

using headlight::tensor::DType;
using headlight::tensor::Tensor;

bool is_same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool is_same(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const bool is_integer = a.dtype() == DType::i64;
    if (is_integer && a.data<int64_t>()[i] != b.data<int64_t>()[i]) return false;
    if (!is_integer && !is_same(a.data<float>()[i], b.data<float>()[i])) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headlight;
  try {
    const Tensor array =
        io::read_csv(base::MemoryInput("fuzz", std::as_bytes(std::span(data, size))));
    fuzz::require(static_cast<size_t>(array.elements()) <= size);
    test::StringOutput output;
    io::write_csv(output, array);
    fuzz::require(is_same(array, fuzz::must_succeed([&] { return io::read_csv(output.input()); })));
  } catch (const base::Error&) {
  }
  return 0;
}
