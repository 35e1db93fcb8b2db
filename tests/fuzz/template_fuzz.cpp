// Any bytes as a template, which is rendered for a conversation and for a few other values: a text
// of UTF-8 with a mark for each byte, or an Error of one line that names the line at fault.
#include "headlight/text/jinja/template.h"
#include "headlight/text/text.h"
#include "tests/fuzz/trapped.h"

namespace {

using namespace headlight;
using text::jinja::Template;

Template::Variables variables() {
  const io::Json json = io::parse_json(
      R"({"messages":[{"role":"system","content":"Be <b>brief</b>."},
          {"role":"user","content":"Wie geht's? \u00e9\ud83d\ude0a\n"},
          {"role":"assistant","content":"<think>\nhm\n</think>\n\nGood."},
          {"role":"user","content":" And {{ you }}? "}],
          "bos_token":"<s>","eos_token":"</s>","add_generation_prompt":true,"tools":null,
          "x":3,"f":2.5,"n":null,"l":[3,"b",[1,2]],"d":{"k":"v","items":1}})",
      "fuzz");
  text::jinja::Meter meter("fuzz", {});
  Template::Variables list;
  for (const auto& [name, value] : *json.object()) {
    list.emplace_back(name, given_value(value, meter));
  }
  return list;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Template::Variables kVariables = variables();
  // Less than templates may use, so that more of them are tried.
  constexpr text::jinja::Limits kLimits{.steps = 200'000, .bytes = int64_t{16} << 20};
  std::tm now{};
  now.tm_year = 126;
  now.tm_mday = 18;
  try {
    const Template chat(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
    const text::MarkedText text = chat.render(kVariables, now, kLimits);
    fuzz::require(io::valid_utf8_length(text.bytes) == text.bytes.size());
    fuzz::require(text.given.empty() || text.given.size() == text.bytes.size());
    // The same each time.
    fuzz::require(chat.render(kVariables, now, kLimits).bytes == text.bytes);
  } catch (const base::Error& error) {
    const std::string_view what = error.what();
    fuzz::require(what.find('\n') == std::string_view::npos);
    fuzz::require(what.starts_with("chat template (fuzz, line "));
  }
  return 0;
}
