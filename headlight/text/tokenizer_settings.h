// What the files beside a tokenizer say of it: tokenizer_config.json, special_tokens_map.json and
// added_tokens.json, which transformers reads over the tokenizer's own. For text's own use.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headlight/text/tokenizer_parts.h"

namespace headlight::text {

inline constexpr const char* kCleansUpBpe =
    "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output";

struct TokenizerSettings {
  // Of byte-level tokenizers, and of Llama's with `legacy`.
  std::optional<bool> adds_prefix_space = {};
  bool is_legacy = false;
  // The tokens around a text, where no tokenizer.json says it; nothing: as the kind has it.
  std::optional<bool> adds_begin = {};
  std::optional<bool> adds_end = {};
  // The class that transformers takes: of nobody in particular, it takes the tokenizer.json as it
  // is. Empty: nothing says which.
  std::string chosen_class = {};
  bool is_generic = false;
  // Of BERT's normalizer and ALBERT's.
  std::optional<bool> lower_case = {};
  bool keeps_accents = false;
  std::optional<bool> strips_accents = {};
  std::optional<bool> parts_chinese = {};
  // Tokens by role ("eos_token"), and those with ids of their own.
  std::map<std::string, AddedToken> roles = {};
  std::vector<AddedToken> added = {};
  std::vector<AddedToken> other_special = {};
  bool splits_special = false;  // no text becomes a special token
  bool cleans_up = false;       // decoded texts, of models that are not BPE
  bool cleans_up_bpe = false;

  std::string class_name = {};            // as it is written
  std::optional<int64_t> extra_ids = {};  // of T5
  bool has_two_vocabularies = false;      // of Marian
  bool has_options = false;               // of SentencePiece: sp_model_kwargs

  // The token of a role; `usual` when the files do not name one.
  std::string token(const std::string& role, const std::string& usual) const;
};

// Those in a folder; all is open where there are none. Throws Error(bad_input).
TokenizerSettings read_tokenizer_settings(base::FileSystem& files, const std::string& directory);

// A tokenizer.json in memory with what the files beside it say.
Tokenizer parse_tokenizer(std::string_view json, const std::string& name,
                          const TokenizerSettings& settings);

// Changes a tokenizer.json to what its class in transformers makes of it.
void apply_class(const TokenizerSettings& settings, io::Json& document);
// The same for a plan: what the class takes from its settings, whatever files it was read from.
void apply_class(const TokenizerSettings& settings, TokenizerPlan& plan);

// Whether a tokenizer.json splits texts into bytes.
bool is_byte_level(const io::Json& document);

// What is put around a text by what adds_begin and adds_end say, with the tokens of these names
// where the files name none. Null: nothing.
io::Json begin_and_end(const TokenizerSettings& settings, const TokenizerPlan& plan,
                       bool adds_begin, bool adds_end, const std::string& usual_begin,
                       const std::string& usual_end);

// Changes a plan, before a tokenizer is made of it, to what the settings say.
void apply_settings(const TokenizerSettings& settings, TokenizerPlan& plan);

}  // namespace headlight::text
