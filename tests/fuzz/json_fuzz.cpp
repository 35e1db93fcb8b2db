// Any bytes as JSON: a document, which comes back when it is written, and an array; or an Error.
#include <cstring>

#include "headlight/io/io.h"
#include "headlight/io/json_array.h"
#include "tests/fuzz/trapped.h"
#include "tests/io/string_output.h"

namespace {

using namespace headlight;

void check_document(std::string_view text) {
  const io::Json json = io::parse_json(text, "fuzz");
  const std::string written = io::json_text(json);
  fuzz::require(fuzz::must_succeed([&] { return io::parse_json(written, "fuzz"); }) == json);
}

void check_array(std::string_view text) {
  const tensor::Tensor array =
      io::read_json_array(base::MemoryInput("fuzz", std::as_bytes(std::span(text))));
  fuzz::require(static_cast<size_t>(array.elements()) <= text.size());
  test::StringOutput output;
  io::write_json_array(output, array);
  // A number beyond float32 has become infinite and is written as null, which is not read.
  if (output.text.find("null") != std::string::npos) return;
  const tensor::Tensor again =
      fuzz::must_succeed([&] { return io::read_json_array(output.input()); });
  fuzz::require(array.shape() == again.shape() && array.dtype() == again.dtype());
  fuzz::require(std::memcmp(array.raw(), again.raw(), array.bytes()) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto check : {check_document, check_array}) {
    try {
      check(text);
    } catch (const base::Error&) {
    }
  }
  return 0;
}
