// Any bytes as a safetensors file: opening and loading give tensors or an Error.
#include "headlight/io/io.h"
#include "tests/fuzz/trapped.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headlight;
  try {
    const io::Safetensors tensors(
        std::make_shared<base::MemoryInput>("fuzz", std::as_bytes(std::span(data, size))));
    for (const io::Safetensors::Entry& entry : tensors.entries()) {
      const tensor::Tensor array = tensors.load(entry);
      fuzz::require(array.bytes() <= 8 * size);  // the widest conversion
      io::as_float32(array);
    }
  } catch (const base::Error&) {
  }
  return 0;
}
