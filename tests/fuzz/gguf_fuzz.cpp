// Any bytes as a GGUF file: opening and loading give settings, tensors and a tokenizer, or an
// Error.
#include "headlight/io/io.h"
#include "headlight/text/text.h"
#include "tests/fuzz/some_files.h"
#include "tests/fuzz/trapped.h"

namespace {

using namespace headlight;

// Its tokenizer reads a text and writes UTF-8.
void check_tokenizer(std::string_view bytes) {
  constexpr const char* kName = "fuzz.gguf";
  fuzz::OneFile files(kName, bytes);
  if (!text::has_tokenizer(files, kName)) return;
  const text::Tokenizer tokenizer = text::load_tokenizer(files, kName);
  const std::vector<int64_t> ids = tokenizer.encode("Ab 12 ç\n", {.special = true, .framed = true});
  for (const int64_t id : ids) fuzz::require(id >= 0 && id < tokenizer.size());
  const std::string joined = tokenizer.decode(ids);
  fuzz::require(io::valid_utf8_length(joined) == joined.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const io::Gguf file(
        std::make_shared<base::MemoryInput>("fuzz", std::as_bytes(std::span(data, size))));
    for (const auto& [key, value] : file.settings()) io::json_text(value);
    for (const io::Gguf::Entry& entry : file.entries()) {
      const tensor::Tensor array = file.load(entry);
      fuzz::require(array.bytes() <= 8 * size);  // the widest conversion: 4.5 bits to 32
      io::as_float32(array);
    }
    check_tokenizer({reinterpret_cast<const char*>(data), size});
  } catch (const base::Error&) {
  }
  return 0;
}
