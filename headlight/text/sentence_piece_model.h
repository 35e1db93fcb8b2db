// SentencePiece's models as they run themselves. For text's own use.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "headlight/text/model.h"
#include "headlight/text/sentence_piece_bpe.h"
#include "headlight/text/sentence_piece_file.h"

namespace headlight::text {

class SentencePieceModel : public Model {
 public:
  // Ids are the pieces' own, or, where `is_looked_up`, those that the vocabulary gives to their
  // texts; what it does not have is unknown. `name` is for errors.
  SentencePieceModel(const Vocabulary& vocabulary, SentencePieceFile file, bool is_looked_up,
                     int64_t unknown, const std::string& name);
  void encode(const Vocabulary& vocabulary, std::string_view piece, Ids& ids) const override;
  io::Json::Object json(const Vocabulary& vocabulary) const override;
  std::optional<int64_t> unknown() const override {
    return unknown_ < 0 ? std::nullopt : std::optional<int64_t>(unknown_);
  }
  std::string_view kind() const override { return file_.is_bpe ? "bpe" : "unigram"; }

 private:
  void encode_unknown(const Vocabulary& vocabulary, std::string_view run, Ids& ids) const;

  SentencePieceFile file_;
  bool is_looked_up_;
  int64_t unknown_;
  std::vector<int64_t> ids_;           // by piece
  std::array<int64_t, 256> byte_ids_;  // -1: none
  // One of them.
  std::optional<SentencePieceBpe> bpe_ = {};
  std::optional<UnigramTable<float>> unigram_ = {};
};

}  // namespace headlight::text
