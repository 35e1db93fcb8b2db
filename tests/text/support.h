// Tokenizers that tests of text share.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/text/text.h"
#include "tests/base/temporary_folder.h"
#include "tests/io/bad_files.h"
#include "tests/places.h"

namespace headlight::text {

using Ids = std::vector<int64_t>;

// Where a folder of shared data lies; empty when it is absent.
inline std::string shared_data(const std::string& name) {
  const std::string path = tests::shared_folder() + "/data/" + name;
  return std::filesystem::exists(path) ? path : "";
}

inline Tokenizer make_char(std::string_view text, const std::vector<std::string>& special = {}) {
  return char_tokenizer(std::span(&text, 1), special);
}

inline Tokenizer make_word(std::string_view text,
                           const std::vector<std::string>& special = sequence_tokens()) {
  return word_tokenizer(std::span(&text, 1), special);
}

inline Tokenizer make_bpe(std::string_view text, int64_t size,
                          const std::vector<std::string>& special = {}) {
  return train_bpe(std::span(&text, 1), {.vocabulary_size = size, .special = special});
}

inline constexpr const char* kWordPieces =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\nhello\nworld\n,\n!\n##s\ncafe\n$"
    "\n한\n中\n";

inline Tokenizer make_word_pieces(const std::string& lines = kWordPieces) {
  const test::TemporaryFolder folder;
  return load_tokenizer(base::real_files(), folder.put("vocab.txt", lines));
}

inline std::vector<std::string> tokens_of(const Tokenizer& tokenizer, std::string_view text,
                                          EncodeOptions options = {}) {
  std::vector<std::string> tokens;
  for (const int64_t id : tokenizer.encode(text, options)) tokens.push_back(tokenizer.token(id));
  return tokens;
}

// The same after it was written and read.
inline Tokenizer reloaded(const Tokenizer& tokenizer) {
  const test::TemporaryFolder folder;
  tokenizer.save(base::real_files(), folder.path());
  return load_tokenizer(base::real_files(), folder.path());
}

}  // namespace headlight::text
