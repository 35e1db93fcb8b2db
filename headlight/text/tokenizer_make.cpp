// Character and word tokenizers from texts.
#include "headlight/text/tokenizer_make.h"

#include <algorithm>
#include <set>

#include "headlight/text/hugging_face_unicode.h"
#include "headlight/text/tokenizer_parts.h"
#include "headlight/text/unicode.h"
#include "headlight/text/vocabulary_builder.h"

namespace headlight::text {
namespace {

TokenizerPlan word_level_plan(VocabularyBuilder builder) {
  const auto& special = builder.special();
  const bool is_bert = std::ranges::find(special, "[UNK]", &AddedToken::content) != special.end();
  return {.name = kNewTokenizer,
          .post_processor = builder.frame(),
          .entries = builder.take_entries(),
          .added = builder.take_added(),
          .model = [is_bert](const Vocabulary& vocabulary, bool) {
            return std::make_unique<WordLevel>(vocabulary, is_bert ? "[UNK]" : "<unk>");
          }};
}

}  // namespace

std::vector<std::string> sequence_tokens() { return {"<pad>", "<start>", "<end>", "<unk>"}; }

std::vector<std::string> masked_tokens() { return {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}; }

Tokenizer char_tokenizer(std::span<const std::string_view> texts,
                         const std::vector<std::string>& special, io::Json normalizer) {
  std::set<char32_t> characters;
  for (const std::string_view text : texts) {
    check_utf8(text);
    for (size_t at = 0; at < text.size();) {
      const CodePoint point = code_point_at(text, at);
      characters.insert(point.value);
      at += point.length;
    }
  }
  VocabularyBuilder vocabulary(special);
  for (const char32_t character : characters) {
    std::string token;
    append(token, character);
    vocabulary.add(token);
  }
  TokenizerPlan plan = word_level_plan(std::move(vocabulary));
  plan.normalizer = std::move(normalizer);
  plan.pre_tokenizer = character_splitter();
  plan.decoder = io::Json::Object{{"type", "Fuse"}};
  return Tokenizer(TokenizerParts(std::move(plan)));
}

Tokenizer word_tokenizer(std::span<const std::string_view> texts,
                         const std::vector<std::string>& special) {
  VocabularyBuilder vocabulary(special);
  for (const std::string_view text : texts) {
    const std::string composed = hugging_face::normalized(text, NormalForm::nfc);
    for (const std::string_view word : words(composed)) vocabulary.add(std::string(word));
  }
  TokenizerPlan plan = word_level_plan(std::move(vocabulary));
  plan.normalizer = io::Json::Object{{"type", "NFC"}};
  plan.pre_tokenizer = io::Json::Object{{"type", "WhitespaceSplit"}};
  return Tokenizer(TokenizerParts(std::move(plan)));
}

}  // namespace headlight::text
