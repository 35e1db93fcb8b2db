// Pre-tokenizers of tokenizer.json. No regular expression is run on a text.
#include "headlight/text/splitter.h"

#include <algorithm>

#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::string_view kReadSplitters =
    "ByteLevel, Whitespace, WhitespaceSplit, BertPreTokenizer and a Split into characters";
constexpr std::string_view kAnyCharacter = R"([\s\S])";

// One piece for each longest run of code points of the same class; class 0 is left out, and class 1
// is never a run.
template <class Classify>
void split_by(std::string_view text, const Classify& classify, const PieceTaker& take) {
  size_t begin = 0;
  int kind = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    const int next = classify(point.value);
    if (next != kind || next == 1) {
      if (kind != 0) take(text.substr(begin, at - begin));
      begin = at;
      kind = next;
    }
    at += point.length;
  }
  if (kind != 0) take(text.substr(begin));
}

int word_class(char32_t c) { return is_white_space(c) ? 0 : is_word(c) ? 2 : 3; }
int white_space_class(char32_t c) { return is_white_space(c) ? 0 : 2; }
int character_class(char32_t) { return 1; }

int bert_class(char32_t c) {
  constexpr std::string_view kAsciiSymbols = "$+<=>^`|~";  // punctuation to BERT
  if (is_white_space(c)) return 0;
  const bool is_symbol = c < 0x80 && kAsciiSymbols.find(static_cast<char>(c)) != kAsciiSymbols.npos;
  return is_symbol || is_punctuation(c) ? 1 : 2;
}

}  // namespace

Splitter::Splitter(const Component& component) {
  const std::string& type = component.type();
  if (type == "ByteLevel") {
    component.require("use_regex", true, true);
    kind_ = Kind::byte_level;
    adds_space_ = component.flag("add_prefix_space", true);
  } else if (type == "WhitespaceSplit") {
    kind_ = Kind::white_space;
  } else if (type == "Whitespace") {
    kind_ = Kind::words;
  } else if (type == "BertPreTokenizer") {
    kind_ = Kind::bert;
  } else if (type == "Split") {
    const io::Json* pattern = component.find("pattern");
    const io::Json* expression = pattern ? pattern->find("Regex") : nullptr;
    const bool is_any = expression && expression->text() && *expression->text() == kAnyCharacter;
    if (!is_any || component.text("behavior", "") != "Isolated")
      component.refuse_type(kReadSplitters);
    component.require("invert", false, false);
    kind_ = Kind::characters;
  } else {
    component.refuse_type(kReadSplitters);
  }
}

void Splitter::split(std::string_view text, const PieceTaker& take) const {
  switch (kind_) {
    case Kind::byte_level:
      return split_as_gpt2(text, take);
    case Kind::white_space:
      return split_by(text, white_space_class, take);
    case Kind::words:
      return split_by(text, word_class, take);
    case Kind::bert:
      return split_by(text, bert_class, take);
    case Kind::characters:
      return split_by(text, character_class, take);
  }
}

io::Json character_splitter() {
  using Object = io::Json::Object;
  return Object{{"type", "Split"},
                {"pattern", Object{{"Regex", kAnyCharacter}}},
                {"behavior", "Isolated"},
                {"invert", false}};
}

}  // namespace headlight::text
