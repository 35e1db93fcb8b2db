// Input: one text as a model reads it, with the words for its labels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/models/models.h"
#include "headlight/text/text.h"

namespace headlight::explain {

// One sequence: ids (1, T), source_ids (1, S) for an encoder-decoder, targets (1, T) where the
// right ids are known (-1: none at this position); no lengths.
struct Input {
  models::Batch batch = {};
  std::vector<std::string> tokens = {};         // T labels
  std::vector<std::string> source_tokens = {};  // S labels
  std::vector<std::string> vocabulary = {};     // labels of ids; may be empty
  std::optional<models::Classes> classes = {};  // of a model that classifies
  int64_t written = 0;  // how many of the tokens, the last ones, the model wrote by itself
};

// Ids as they are: of models without a tokenizer, or with what a model wrote.
struct InputIds {
  std::vector<int64_t> ids;  // read first; by an encoder-decoder as its source
  std::optional<std::vector<int64_t>> target = {};
  bool target_is_written = false;  // by the model itself: nothing is known to be right there
};

struct InputText {
  std::string text;
  std::optional<std::string> target = {};
  bool special = false;  // texts of special tokens become these
};

// An encoder-decoder reads `text` with its encoder; its decoder reads <start> and the target, and
// is to give the target and <end>. Without a target the decoder reads <start> alone and nothing is
// known to be right. A GPT reads the text and the target one after the other and is to give the
// next id everywhere (with a target: only the target's ids); what the tokenizer puts before a text
// comes first. BERT reads the text framed; a target is an Error. Throws Error(bad_input) for a text
// without tokens, a word that the vocabulary does not have where it has an unknown token (the words
// are listed), and more tokens than the context.
Input make_input(const models::Model& model, const text::Tokenizer& tokenizer,
                 const InputText& text);
// The same of ids; nothing is put around them. Labels are the tokenizer's, or the ids. Throws
// Error(bad_input) also for an id that the model does not have.
Input make_input(const models::Model& model, const text::Tokenizer* tokenizer, InputIds ids);
// What a text becomes before it is given to a model. Throws as make_input does.
InputIds encode_input(const models::Model& model, const text::Tokenizer& tokenizer,
                      const InputText& text);

}  // namespace headlight::explain
