// Prompts and words as people type them, for questions about a model's logits: ids, the position
// that is meant, and labels.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/models/models.h"
#include "headlight/text/text.h"

namespace headlight::recipes {

// `tokenizer`: null where the model has none; then texts are ids with commas between them. Texts of
// special tokens become these with `special`, that of a mask always in models that fill masks.
struct PromptReader {
  const models::Model& model;
  const text::Tokenizer* tokenizer = nullptr;
  std::string_view what = "prompt";  // begins errors
  bool special = false;
};

struct PromptText {
  std::string prompt;  // of an encoder-decoder: what its decoder has written so far; may be empty
  std::optional<std::string> source = {};  // which an encoder-decoder needs, and no other takes
  std::optional<int64_t> at = {};          // a position; default: the mask's, or the last one's
};

struct TypedPrompt {
  models::Batch batch;  // one sequence
  std::vector<std::string> tokens;
  std::vector<std::string> source_tokens = {};
  // Whose next word is meant or, in a model that fills masks, the word that stands there.
  int64_t position = 0;
};

// Throws Error(bad_input) for a text without tokens or with more than the model reads, words that
// the vocabulary does not have, a position that there is not, and a model that fills masks without
// one mask or a position.
TypedPrompt read_prompt(const PromptReader& reader, const PromptText& text);

// A word is one token, or the first of several.
struct TypedWord {
  std::string text;   // as it was typed
  std::string token;  // what its id is called
  int64_t id = 0;
  int64_t tokens = 1;  // that the text has; more than 1: the others are left out
  // Where the same text after a space is one token, and another one: that token, which is what the
  // word is within a sentence.
  std::optional<std::string> after_space = {};
};

// `which` names it in errors. Throws Error(bad_input) where no token of the model stands for it.
TypedWord read_word(const PromptReader& reader, std::string_view which, const std::string& text);

// What an id is called.
std::string label_of(const PromptReader& reader, int64_t id);

}  // namespace headlight::recipes
