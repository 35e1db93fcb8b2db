// Any bytes as an .npy file: a tensor, which comes back when it is written, or an Error.
#include <cstring>

#include "headlight/io/io.h"
#include "headlight/io/npy.h"
#include "tests/fuzz/trapped.h"
#include "tests/io/string_output.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headlight;
  try {
    const tensor::Tensor array =
        io::read_npy(base::MemoryInput("fuzz", std::as_bytes(std::span(data, size))));
    fuzz::require(array.bytes() <= 8 * size);  // the widest conversion
    test::StringOutput output;
    io::write_npy(output, array);
    const tensor::Tensor again = fuzz::must_succeed([&] { return io::read_npy(output.input()); });
    fuzz::require(array.shape() == again.shape() && array.dtype() == again.dtype());
    fuzz::require(std::memcmp(array.raw(), again.raw(), array.bytes()) == 0);
  } catch (const base::Error&) {
  }
  return 0;
}
