// What a tokenizer is made of. For text's own use.
#pragma once

#include <functional>
#include <memory>

#include "headlight/text/joiner.h"
#include "headlight/text/model.h"
#include "headlight/text/normalizer.h"
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
  Vocabulary::Entries entries = {};
  std::vector<AddedToken> added = {};
  std::function<std::unique_ptr<Model>(const Vocabulary&)> model = {};
};

struct TokenizerParts {
  explicit TokenizerParts(TokenizerPlan plan);

  io::Json normalizer_json;
  io::Json pre_tokenizer_json;
  io::Json post_processor_json;
  io::Json decoder_json;
  std::vector<AddedToken> added;
  Vocabulary vocabulary;
  Normalizer normalizer;
  Splitter splitter;
  Joiner joiner;
  Frame frame;
  AddedTokenFinder finder;
  std::unique_ptr<Model> model;
  SpecialIds special;
};

// The plan of a byte-level BPE: GPT-2's splitting.
TokenizerPlan byte_level_plan(const std::string& name, Vocabulary::Entries entries,
                              Bpe::Merges merges, std::vector<AddedToken> added);

}  // namespace headlight::text
