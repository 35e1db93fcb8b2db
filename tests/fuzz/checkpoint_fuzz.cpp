// Any bytes as a PyTorch checkpoint, archive or pickles: opening and loading give tensors or an
// Error.
#include "headlight/io/io.h"
#include "tests/fuzz/trapped.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headlight;
  constexpr size_t kExpanded = size_t{1} << 20;  // elements that strides may show of fewer
  try {
    const io::StoredTensors tensors = io::open_checkpoint(
        std::make_shared<base::MemoryInput>("fuzz", std::as_bytes(std::span(data, size))));
    for (const io::StoredTensors::Entry& entry : tensors.entries()) {
      const tensor::Tensor array = tensors.load(entry);
      fuzz::require(array.bytes() <= 8 * std::max(size, kExpanded));
      io::as_float32(array);
    }
  } catch (const base::Error&) {
  }
  return 0;
}
