// Any bytes as a file of SentencePiece's, with a text at their end after a last zero byte: the
// tokenizer encodes the text, as it is and in many copies, and decodes to UTF-8; or an Error.
#include "headlight/io/io.h"
#include "headlight/text/text.h"
#include "tests/fuzz/some_files.h"
#include "tests/fuzz/trapped.h"

namespace {

using namespace headlight;

void check_text(const text::Tokenizer& tokenizer, const std::string& text) {
  const std::vector<int64_t> ids = tokenizer.encode(text, {.special = true, .framed = true});
  for (const int64_t id : ids) fuzz::require(id >= 0 && id < tokenizer.size());
  for (const bool special : {false, true}) {
    const std::string decoded = tokenizer.decode(ids, {.special = special});
    fuzz::require(io::valid_utf8_length(decoded) == decoded.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t zero = std::min(bytes.rfind('\0'), bytes.size());
  const std::string text(bytes.substr(std::min(zero + 1, bytes.size())));
  for (const char* name : {"tokenizer.model", "spiece.model"}) {
    fuzz::OneFile files(std::string("/") + name, bytes.substr(0, zero));
    try {
      const text::Tokenizer tokenizer = text::load_tokenizer(files, std::string("/") + name);
      check_text(tokenizer, text);
      std::string copies;
      while (!text.empty() && copies.size() < 2000) copies += text;
      check_text(tokenizer, copies);
    } catch (const base::Error&) {
    }
  }
  return 0;
}
