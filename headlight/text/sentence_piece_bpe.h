// SentencePiece's BPE: neighbours become the piece they make, the one with the highest score first,
// from left to right among equals. For text's own use.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "headlight/text/sentence_piece_file.h"
#include "headlight/text/trie.h"

namespace headlight::text {

class SentencePieceBpe {
 public:
  static constexpr int32_t kUnknown = -1;

  // The file must outlive it; `name` is for errors.
  SentencePieceBpe(const SentencePieceFile& file, const std::string& name);

  // Calls take(piece, id) for the pieces in their order; what is none has the id kUnknown.
  template <class Take>
  void for_each_piece(std::string_view text, const Take& take) const {
    for (size_t at = 0; at < text.size();) at = encode_part(text, at, take);
  }

 private:
  class Run;
  using Taker = std::function<void(std::string_view piece, int32_t id)>;

  size_t encode_part(std::string_view text, size_t at, const Taker& take) const;
  // The id of a piece that merges may make.
  int32_t find(std::string_view piece) const;
  bool is_unused(int32_t id) const;
  float score(int32_t id) const;

  const SentencePieceFile& file_;
  std::unordered_map<std::string_view, int32_t> ids_;
  std::unordered_set<uint64_t> inner_pairs_;  // neighbouring characters within pieces
  std::optional<Trie> kept_;                  // the user's own pieces, which are never merged
  size_t longest_ = 0;
};

}  // namespace headlight::text
