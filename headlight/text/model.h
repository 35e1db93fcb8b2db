// From one piece of a text to ids: the ways there are. For text's own use.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/text/trie.h"
#include "headlight/text/unigram_table.h"
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
  struct Found {
    int64_t id;
    size_t bytes;  // of the piece
  };
  // The longest token at this place of the piece.
  std::optional<Found> longest_at(std::string_view piece, size_t begin) const;

  Settings settings_;
  int64_t unknown_ = 0;
  Trie tokens_;
  int32_t continued_ = Trie::kNone;  // the prefix among the tokens' beginnings
};

// BPE: characters, or bytes, of which the pair that stands first in the list of merges becomes one
// token wherever it stands, from left to right, until no pair is in the list.
class Bpe : public Model {
 public:
  using Merges = std::vector<std::pair<std::string, std::string>>;
  struct Settings {
    // Empty: none; what has no token is left out, as others do.
    std::string unknown = "";
    bool takes_bytes = true;           // pieces are bytes, which tokens write in letters
    bool fuses_unknown = false;        // one unknown token for unknown characters in a row
    bool falls_back_to_bytes = false;  // to <0x0A> and the like
    bool ignores_merges = false;       // for pieces that are tokens
  };

  // Every merge names tokens and makes one; those of special tokens are never used. `name` is for
  // errors.
  Bpe(const Vocabulary& vocabulary, const Merges& merges, Settings settings,
      const std::string& name);
  void encode(const Vocabulary& vocabulary, std::string_view piece, Ids& ids) const override;
  io::Json::Object json(const Vocabulary& vocabulary) const override;
  std::optional<int64_t> unknown() const override { return unknown_; }
  std::string_view kind() const override { return "bpe"; }

 private:
  struct Merge {
    int32_t left;
    int32_t right;
  };
  struct Result {
    int32_t rank;
    int32_t id;
  };
  class Run;
  class Characters;

  void add_merge(const Vocabulary& vocabulary, const std::pair<std::string, std::string>& merge,
                 const std::string& name);
  void add_characters(const Vocabulary& vocabulary);
  void encode_characters(std::string_view piece, Ids& ids) const;
  std::optional<int64_t> whole_piece(const Vocabulary& vocabulary, std::string_view piece) const;

  Settings settings_;
  std::vector<Merge> merges_;  // by rank
  std::unordered_map<uint64_t, Result> results_;
  std::array<int32_t, 256> byte_ids_;  // -1: none
  std::optional<int64_t> unknown_;
  // Of characters.
  std::unordered_map<char32_t, int32_t> character_ids_;
  std::unordered_set<uint64_t> inner_pairs_;  // neighbours within tokens that merges make
};

// The most probable tokens: a unigram model.
class Unigram : public Model {
 public:
  struct Settings {
    std::optional<int64_t> unknown = {};
    bool falls_back_to_bytes = false;
    // Scores count as Hugging Face's `tokenizers` reads them, rounded twice.
    bool rounds_twice = false;
  };

  // The tokens' scores by id; the vocabulary may have more tokens. `name` is for errors.
  Unigram(const Vocabulary& vocabulary, std::vector<double> scores, Settings settings,
          const std::string& name);
  void encode(const Vocabulary& vocabulary, std::string_view piece, Ids& ids) const override;
  io::Json::Object json(const Vocabulary& vocabulary) const override;
  std::optional<int64_t> unknown() const override { return settings_.unknown; }
  std::string_view kind() const override { return "unigram"; }

 private:
  void encode_unknown(const Vocabulary& vocabulary, std::string_view run, Ids& ids) const;

  Settings settings_;
  std::vector<double> scores_;
  UnigramTable<double> table_;
  std::array<int32_t, 256> byte_ids_;  // -1: none
};

}  // namespace headlight::text
