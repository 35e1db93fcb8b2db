// Character and word tokenizers from texts.
#include "headlight/text/tokenizer_make.h"

#include <set>

#include "headlight/text/numbering.h"
#include "headlight/text/tokenizer_parts.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

TokenizerPlan word_level_plan(Numbering numbering) {
  return {.name = kNewTokenizer,
          .entries = numbering.take_entries(),
          .added = numbering.take_added(),
          .model = [](const Vocabulary& vocabulary) {
            return std::make_unique<WordLevel>(vocabulary, "<unk>");
          }};
}

}  // namespace

std::vector<std::string> sequence_tokens() { return {"<pad>", "<start>", "<end>", "<unk>"}; }

Tokenizer char_tokenizer(std::span<const std::string_view> texts,
                         const std::vector<std::string>& special) {
  std::set<char32_t> characters;
  for (const std::string_view text : texts) {
    check_utf8(text);
    for (size_t at = 0; at < text.size();) {
      const CodePoint point = code_point_at(text, at);
      characters.insert(point.value);
      at += point.length;
    }
  }
  Numbering numbering(special);
  for (const char32_t character : characters) {
    std::string token;
    append(token, character);
    numbering.add(token);
  }
  TokenizerPlan plan = word_level_plan(std::move(numbering));
  plan.pre_tokenizer = character_splitter();
  plan.decoder = io::Json::Object{{"type", "Fuse"}};
  return Tokenizer(TokenizerParts(std::move(plan)));
}

Tokenizer word_tokenizer(std::span<const std::string_view> texts,
                         const std::vector<std::string>& special) {
  Numbering numbering(special);
  for (const std::string_view text : texts) {
    const std::string composed = normalized(text, NormalForm::nfc);
    for (const std::string_view word : words(composed)) numbering.add(std::string(word));
  }
  TokenizerPlan plan = word_level_plan(std::move(numbering));
  plan.normalizer = io::Json::Object{{"type", "NFC"}};
  plan.pre_tokenizer = io::Json::Object{{"type", "WhitespaceSplit"}};
  return Tokenizer(TokenizerParts(std::move(plan)));
}

}  // namespace headlight::text
