// Any first line as a regular expression that splits a text and replaces in it, any rest as the
// text: ids within linear time; or an Error.
#include "headlight/io/io.h"
#include "headlight/text/text.h"
#include "tests/fuzz/trapped.h"

namespace {

using namespace headlight;

std::string tokenizer_of(std::string_view expression, std::string_view behavior) {
  const std::string pattern = R"("pattern":{"Regex":)" + io::json_text(expression) + "}";
  return R"({"normalizer":{"type":"Replace","content":"-",)" + pattern +
         R"(},"pre_tokenizer":{"type":"Split","invert":false,"behavior":")" +
         std::string(behavior) + R"(",)" + pattern +
         R"(},"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"-":2}}})";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(bytes.find('\n'), bytes.size());
  const std::string_view expression = bytes.substr(0, line);
  const std::string_view text = bytes.substr(std::min(line + 1, bytes.size()));
  if (io::valid_utf8_length(expression) != expression.size()) return 0;
  constexpr std::string_view kBehaviors[] = {"Isolated", "Removed", "MergedWithNext",
                                             "MergedWithPrevious", "Contiguous"};
  try {
    const text::Tokenizer tokenizer =
        text::parse_tokenizer(tokenizer_of(expression, kBehaviors[size % 5]), "fuzz");
    for (const int64_t id : tokenizer.encode(text)) fuzz::require(id >= 0 && id < 3);
  } catch (const base::Error&) {
  }
  return 0;
}
