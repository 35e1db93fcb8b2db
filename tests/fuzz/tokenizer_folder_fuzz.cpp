// Any files as those of a folder that holds a tokenizer and a chat template: each begins with a
// line "== name", and one without a name is a text. The tokenizer encodes the text, decodes to
// UTF-8 and comes back when it is written; the template is rendered; or an Error.
#include "headlight/io/io.h"
#include "headlight/text/text.h"
#include "tests/fuzz/some_files.h"
#include "tests/fuzz/trapped.h"

namespace {

using namespace headlight;

constexpr const char* kFolder = "/fuzz";

// The files, and what stands under no name.
fuzz::SomeFiles::Files files_of(std::string_view input, std::string_view& text) {
  constexpr std::string_view kStart = "== ";
  fuzz::SomeFiles::Files files;
  while (input.starts_with(kStart)) {
    input.remove_prefix(kStart.size());
    const size_t line = std::min(input.find('\n'), input.size());
    const std::string name(input.substr(0, line));
    input.remove_prefix(std::min(line + 1, input.size()));
    const size_t end = std::min(input.find("\n== "), input.size());
    const std::string_view bytes = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
    if (name.empty()) {
      text = bytes;
    } else {
      files.emplace_back(std::string(kFolder) + "/" + name, bytes);
    }
  }
  return files;
}

void check_tokenizer(const text::Tokenizer& tokenizer, std::string_view text) {
  const std::string written = tokenizer.json();
  const text::Tokenizer again =
      fuzz::must_succeed([&] { return text::parse_tokenizer(written, "fuzz"); });
  fuzz::require(again.json() == written);
  const std::vector<int64_t> ids = tokenizer.encode(text, {.special = true, .framed = true});
  for (const int64_t id : ids) fuzz::require(id >= 0 && id < tokenizer.size());
  const std::string decoded = tokenizer.decode(ids);
  fuzz::require(io::valid_utf8_length(decoded) == decoded.size());
}

template <class Call>
void check_error(const Call& call) {
  try {
    call();
  } catch (const base::Error& error) {
    fuzz::require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = "Ab 12 ç\n";
  fuzz::SomeFiles files(kFolder, files_of({reinterpret_cast<const char*>(data), size}, text));
  check_error([&] { check_tokenizer(text::load_tokenizer(files, kFolder), text); });
  check_error([&] { text::load_target_tokenizer(files, kFolder).encode(text); });
  check_error([&] {
    const auto chat = text::find_chat_template(files, kFolder);
    if (chat) chat->render({io::Json(text::chat_message("user", "Hello"))}, {});
  });
  return 0;
}
