// Any bytes as a tokenizer.json, a line, and a text after it: the tokenizer comes back when it is
// written, encodes the text or says why not, and decodes to UTF-8; or an Error. Bytes without a
// line are a text, for a byte-level tokenizer made of it.
#include "headlight/io/io.h"
#include "headlight/text/text.h"
#include "tests/fuzz/trapped.h"

namespace {

using namespace headlight;

void check_text(const text::Tokenizer& tokenizer, std::string_view text) {
  const std::vector<int64_t> ids = tokenizer.encode(text, {.special = true, .framed = true});
  std::string joined;
  text::StreamDecoder stream(tokenizer);
  for (const int64_t id : ids) {
    fuzz::require(id >= 0 && id < tokenizer.size());
    joined += stream.add(id);
  }
  joined += stream.finish();
  fuzz::require(joined == tokenizer.decode(ids));
  fuzz::require(io::valid_utf8_length(joined) == joined.size());
  const text::EncodeOptions sized{
      .special = true, .framed = true, .sizing = text::Sizing::cut_and_filled};
  std::vector<int64_t> streamed;
  tokenizer.encode(text, sized, [&](std::span<const int64_t> some) {
    streamed.insert(streamed.end(), some.begin(), some.end());
  });
  fuzz::require(streamed == tokenizer.encode(text, sized));
}

void check_document(std::string_view document, std::string_view text) {
  const text::Tokenizer tokenizer = text::parse_tokenizer(document, "fuzz");
  const std::string written = tokenizer.json();
  const text::Tokenizer again =
      fuzz::must_succeed([&] { return text::parse_tokenizer(written, "fuzz"); });
  fuzz::require(again.json() == written);
  check_text(tokenizer, text);
}

void check_training(std::string_view text) {
  const text::Tokenizer tokenizer =
      text::train_bpe(std::span(&text, 1), {.vocabulary_size = 300, .special = {"<end>"}});
  fuzz::require(tokenizer.decode(tokenizer.encode(text)) == text);
  check_text(tokenizer, text);
  check_text(text::word_tokenizer(std::span(&text, 1)), text);
}

void check_encodings(std::string_view bytes) {
  text::likely_encoding(bytes);
  for (const char* encoding : {"", "cp1254", "cp949", "utf-16"}) {
    try {
      const std::string text = text::to_utf8(std::string(bytes), "fuzz", encoding);
      fuzz::require(io::valid_utf8_length(text) == text.size());
    } catch (const base::Error&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t line = bytes.find('\n');
  try {
    if (line == std::string_view::npos) {
      check_encodings(bytes);
      check_training(bytes);
    } else {
      check_document(bytes.substr(0, line), bytes.substr(line + 1));
    }
  } catch (const base::Error&) {
  }
  return 0;
}
