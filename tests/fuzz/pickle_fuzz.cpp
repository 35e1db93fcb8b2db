// Any bytes as the pickle of a checkpoint, in an archive that is otherwise right: tensors or an
// Error.
#include "headlight/io/io.h"
#include "tests/fuzz/trapped.h"
#include "tests/io/checkpoint_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headlight;
  const std::string pickle(reinterpret_cast<const char*>(data), size);
  const std::string bytes = io::archive_bytes({.records = io::checkpoint_records(pickle)});
  try {
    const io::StoredTensors tensors = io::open_checkpoint(
        std::make_shared<base::MemoryInput>("fuzz", std::as_bytes(std::span(bytes))));
    for (const io::StoredTensors::Entry& entry : tensors.entries()) tensors.load(entry);
  } catch (const base::Error&) {
  }
  return 0;
}
