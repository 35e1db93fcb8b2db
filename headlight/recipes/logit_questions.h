// Questions about a model's logits in words: what adds up to one, what each layer would say, and
// which heads carry the difference between two texts.
#pragma once

#include "headlight/heads/heads.h"
#include "headlight/recipes/typed_prompt.h"

namespace headlight::recipes {

struct AttributeRequest {
  PromptText text;
  std::string word;
  std::optional<std::string> against = {};
  bool lens = false;  // also what each layer would say
  int64_t top = 5;    // words of each
  bool special = false;
};

struct AttributeAnswer {
  TypedPrompt prompt;
  TypedWord word;
  std::optional<TypedWord> against = {};
  heads::Attribution attribution;
  std::optional<heads::LogitLens> lens = {};
};

// `tokenizer`: null where the model has none. Throws Error(bad_input) as read_prompt and read_word
// do, and for two words that are one token.
AttributeAnswer attribute(base::ThreadPool& threads, const models::Model& model,
                          const text::Tokenizer* tokenizer, const AttributeRequest& request);
// heads::attribution_json with "at", "tokens", "source_tokens", "word" and "against" ({"text",
// "token", "id", "tokens"}: how many tokens the text has, of which the first is meant) and, where
// it was asked for, "lens".
io::Json::Object attribute_json(const AttributeAnswer& answer, const text::Tokenizer* tokenizer);

struct PatchRequest {
  std::string clean;  // prompts or, of an encoder-decoder, sources
  std::string corrupt;
  std::string prompt = {};  // of an encoder-decoder: what its decoder has written, in both runs
  std::optional<int64_t> at = {};
  std::string word;
  std::optional<std::string> against = {};
  bool special = false;
  heads::PatchOptions options = {};
};

struct PatchAnswer {
  TypedPrompt clean;
  TypedPrompt corrupt;
  TypedWord word;
  std::optional<TypedWord> against = {};
  heads::Patching patching;
};

// Nothing when it was interrupted. Throws as attribute() does, and for texts of different numbers
// of tokens.
std::optional<PatchAnswer> patch(base::ThreadPool& threads, const models::Model& model,
                                 const text::Tokenizer* tokenizer, const PatchRequest& request);
// heads::patching_json with "at", "word", "against", "clean_tokens", "corrupt_tokens" and, of an
// encoder-decoder, "clean_source_tokens" and "corrupt_source_tokens".
io::Json::Object patch_json(const PatchAnswer& answer);

}  // namespace headlight::recipes
