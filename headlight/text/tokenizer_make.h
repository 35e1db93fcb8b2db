// Tokenizers made from texts. The same texts give the same ids. Special tokens come first, in the
// order given; one called <unk> or [UNK] stands for what the texts do not hold, and where there are
// both [CLS] and [SEP], they are put around a text that is to be framed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/text/tokenizer.h"

namespace headlight::text {

// What tasks with a source and a target need: <pad>, <start>, <end>, <unk>.
std::vector<std::string> sequence_tokens();

// What models that read both ways need: [PAD], [UNK], [CLS], [SEP], [MASK].
std::vector<std::string> masked_tokens();

// The distinct code points, in their order. Without special tokens, ids are nanoGPT's. `normalizer`
// is what is done to a text that is encoded, as tokenizer.json writes it; the texts here are taken
// as they are.
Tokenizer char_tokenizer(std::span<const std::string_view> texts,
                         const std::vector<std::string>& special = {}, io::Json normalizer = {});

// The distinct words between white space, in NFC, in the order in which they first stand.
Tokenizer word_tokenizer(std::span<const std::string_view> texts,
                         const std::vector<std::string>& special = sequence_tokens());

struct BpeTraining {
  int64_t vocabulary_size = 0;  // special tokens, 256 bytes and merges; fewer where no pair repeats
  std::vector<std::string> special = {};
};
// Byte-level BPE that splits as GPT-2 does. The most frequent pair is merged first; of equals the
// one with the lower ids.
Tokenizer train_bpe(std::span<const std::string_view> texts, const BpeTraining& training);

}  // namespace headlight::text
