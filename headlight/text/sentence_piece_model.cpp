// From pieces to ids.
#include "headlight/text/sentence_piece_model.h"

#include <algorithm>
#include <limits>

#include "headlight/text/joiner.h"

namespace headlight::text {
namespace {

using Type = SentencePieceFile::Type;

UnigramTable<float> unigram_of(const SentencePieceFile& file, const std::string& name) {
  std::vector<UnigramTable<float>::Entry> entries;
  float lowest = std::numeric_limits<float>::max();
  for (size_t i = 0; i < file.pieces.size(); ++i) {
    const SentencePieceFile::Piece& piece = file.pieces[i];
    if (piece.type == Type::normal) lowest = std::min(lowest, piece.score);
    if (piece.type != Type::normal && piece.type != Type::user_defined) continue;
    entries.push_back({.text = piece.text,
                       .id = static_cast<int32_t>(i),
                       .score = piece.score,
                       .is_user_defined = piece.type == Type::user_defined});
  }
  return {entries, lowest, name};
}

}  // namespace

SentencePieceModel::SentencePieceModel(const Vocabulary& vocabulary, SentencePieceFile file,
                                       bool is_looked_up, int64_t unknown, const std::string& name)
    : file_(std::move(file)), is_looked_up_(is_looked_up), unknown_(unknown) {
  byte_ids_.fill(-1);
  for (size_t i = 0; i < file_.pieces.size(); ++i) {
    const SentencePieceFile::Piece& piece = file_.pieces[i];
    ids_.push_back(is_looked_up ? vocabulary.find(piece.text).value_or(unknown)
                                : static_cast<int64_t>(i));
    if (piece.type == Type::byte) byte_ids_[*byte_of_token(piece.text)] = ids_.back();
  }
  if (file_.is_bpe) {
    bpe_.emplace(file_, name);
  } else {
    unigram_.emplace(unigram_of(file_, name));
  }
}

// Unknown characters in a row are one piece, or bytes.
void SentencePieceModel::encode_unknown(const Vocabulary& vocabulary, std::string_view run,
                                        Ids& ids) const {
  if (file_.falls_back_to_bytes) {
    for (const char c : run) ids.push_back(byte_ids_[static_cast<unsigned char>(c)]);
    return;
  }
  const auto found = is_looked_up_ ? vocabulary.find_plain(run) : std::nullopt;
  ids.push_back(found.value_or(unknown_));
}

void SentencePieceModel::encode(const Vocabulary& vocabulary, std::string_view piece,
                                Ids& ids) const {
  size_t at = 0;
  size_t unknown = 0;  // bytes of unknown characters before this place
  const auto end_unknown = [&] {
    if (unknown > 0) encode_unknown(vocabulary, piece.substr(at - unknown, unknown), ids);
    unknown = 0;
  };
  const auto take = [&](std::string_view part, int32_t id) {
    if (id < 0) {
      unknown += part.size();
    } else {
      end_unknown();
      ids.push_back(ids_[static_cast<size_t>(id)]);
    }
    at += part.size();
  };
  if (bpe_) {
    bpe_->for_each_piece(piece, take);
  } else {
    unigram_->for_each_piece(piece, take);
  }
  end_unknown();
}

io::Json::Object SentencePieceModel::json(const Vocabulary&) const {
  return {{"type", kSentencePiece}};
}

}  // namespace headlight::text
