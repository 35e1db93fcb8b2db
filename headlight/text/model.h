// From one piece of a text to ids: the three ways. For text's own use.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/text/vocabulary.h"

namespace headlight::text {

using Ids = std::vector<int64_t>;

class Model {
 public:
  virtual ~Model() = default;
  // Appends the piece's ids.
  virtual void encode(const Vocabulary& vocabulary, std::string_view piece, Ids& ids) const = 0;
  // As tokenizer.json writes it, without the vocabulary.
  virtual io::Json::Object json(const Vocabulary& vocabulary) const = 0;
  virtual std::optional<int64_t> unknown() const = 0;
  virtual std::string_view kind() const = 0;
};

// The id for what has no token: the unknown token's, or else an Error that names the piece.
int64_t unknown_id(std::optional<int64_t> unknown, std::string_view piece);

// A piece is a token or unknown.
class WordLevel : public Model {
 public:
  WordLevel(const Vocabulary& vocabulary, std::string unknown);
  void encode(const Vocabulary& vocabulary, std::string_view piece, Ids& ids) const override;
  io::Json::Object json(const Vocabulary& vocabulary) const override;
  std::optional<int64_t> unknown() const override { return unknown_; }
  std::string_view kind() const override { return "word"; }

 private:
  std::string unknown_token_;
  std::optional<int64_t> unknown_;
};

// The longest token that the piece begins with, then the longest that its rest begins with, with a
// prefix before it, and so on; unknown as a whole where that does not end.
class WordPiece : public Model {
 public:
  struct Settings {
    std::string unknown = "[UNK]";
    std::string prefix = "##";
    int64_t longest_piece = 100;  // code points; longer ones are unknown
  };

  // The unknown token must be in the vocabulary; `name` is for errors.
  WordPiece(const Vocabulary& vocabulary, Settings settings, const std::string& name);
  void encode(const Vocabulary& vocabulary, std::string_view piece, Ids& ids) const override;
  io::Json::Object json(const Vocabulary& vocabulary) const override;
  std::optional<int64_t> unknown() const override { return unknown_; }
  std::string_view kind() const override { return "wordpiece"; }

 private:
  Settings settings_;
  int64_t unknown_ = 0;
};

// Byte-level BPE: bytes, of which the pair that stands first in the list of merges becomes one
// token wherever it stands, from left to right, until no pair is in the list.
class Bpe : public Model {
 public:
  using Merges = std::vector<std::pair<std::string, std::string>>;

  // Every merge names tokens and makes one; `name` is for errors.
  Bpe(const Vocabulary& vocabulary, const Merges& merges, std::string unknown,
      const std::string& name);
  void encode(const Vocabulary& vocabulary, std::string_view piece, Ids& ids) const override;
  io::Json::Object json(const Vocabulary& vocabulary) const override;
  std::optional<int64_t> unknown() const override { return unknown_; }
  std::string_view kind() const override { return "bpe"; }

 private:
  struct Merge {
    int32_t left;
    int32_t right;
    int32_t result;
  };
  class Run;

  std::vector<Merge> merges_;  // by rank
  std::unordered_map<uint64_t, int32_t> ranks_;
  std::array<int32_t, 256> byte_ids_;  // -1: none
  std::string unknown_token_;
  std::optional<int64_t> unknown_;
};

}  // namespace headlight::text
