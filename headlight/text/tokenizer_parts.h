// What a tokenizer is made of. For text's own use.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "headlight/text/joiner.h"
#include "headlight/text/model.h"
#include "headlight/text/normalizer.h"
#include "headlight/text/sizes.h"
#include "headlight/text/special_tokens.h"
#include "headlight/text/splitter.h"

namespace headlight::text {

// The parts as tokenizer.json has them; every tokenizer is made from a plan, whether it was read or
// made here, so what is written is what was used.
struct TokenizerPlan {
  std::string name;  // for errors
  io::Json normalizer = {};
  io::Json pre_tokenizer = {};
  io::Json post_processor = {};
  io::Json decoder = {};
  io::Json truncation = {};
  io::Json padding = {};
  Vocabulary::Entries entries = {};
  std::vector<AddedToken> added = {};
  std::vector<AddedToken> missing = {};  // special tokens that are named and have no id
  TokenRoles roles = {};
  bool takes_language = false;  // >>tur<< before a text is a token
  bool splits_special = false;  // no text becomes a special token
  bool cleans_up = false;       // decoded texts, of models that are not BPE
  bool cleans_up_bpe = false;
  // What a tokenizer that tokenizer.json cannot tell is saved as: names and bytes.
  std::vector<std::pair<std::string, std::string>> files = {};
  // `takes_bytes`: pieces are bytes and not characters.
  std::function<std::unique_ptr<Model>(const Vocabulary&, bool takes_bytes)> model = {};
};

struct TokenizerParts {
  explicit TokenizerParts(TokenizerPlan plan);

  // What a token is decoded from: an added one that is normalized from what is found in texts.
  const std::string& decoded(int64_t id) const;

  io::Json normalizer_json;
  io::Json pre_tokenizer_json;
  io::Json post_processor_json;
  io::Json decoder_json;
  io::Json truncation_json;
  io::Json padding_json;
  std::vector<AddedToken> added;
  bool takes_language;
  bool splits_special;
  std::vector<std::pair<std::string, std::string>> files;
  Vocabulary vocabulary;
  Normalizer normalizer;
  Splitter splitter;
  Joiner joiner;
  Frame frame;
  Sizes sizes;
  std::vector<std::string> missing;    // special tokens that are named and have no id
  AddedTokenFinder finder;             // of tokens in the text as it is; -1, -2, …: missing ones
  AddedTokenFinder normalized_finder;  // of tokens in the normalised text
  AddedTokenFinder written_finder;     // of special ones of these, in the text as it is
  std::unordered_map<int64_t, std::string> normalized;  // what is found of these, by id
  std::unique_ptr<Model> model;
  bool cleans_up;  // decoded texts
  SpecialIds special;
  std::optional<int64_t> mask;
};

// The plan of a byte-level BPE: GPT-2's splitting.
TokenizerPlan byte_level_plan(const std::string& name, Vocabulary::Entries entries,
                              Bpe::Merges merges, std::vector<AddedToken> added);

}  // namespace headlight::text
