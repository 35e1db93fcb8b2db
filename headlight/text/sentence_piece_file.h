// Files of SentencePiece: tokenizer.model, spiece.model, source.spm. For text's own use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/io/io.h"

namespace headlight::text {

struct SentencePieceFile {
  enum class Type { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  struct Piece {
    std::string text = {};
    float score = 0;
    Type type = Type::normal;
  };

  std::vector<Piece> pieces = {};  // by id
  bool is_bpe = false;             // or else a unigram model
  bool falls_back_to_bytes = false;
  int64_t unknown = -1;  // the id of the unknown piece, if there is one
  // Special tokens as the file names them; empty where there is none.
  std::string begin = "<s>";
  std::string end = "</s>";
  std::string pad = "<pad>";
  // What is done to a text.
  std::string charsmap = {};
  bool adds_prefix = true;
  bool prefix_at_end = false;
  bool removes_spaces = true;
  bool escapes_spaces = true;

  int64_t id_of(std::string_view piece) const;  // -1: there is none
  bool has(std::string_view piece) const { return id_of(piece) >= 0; }
  // The parts that do to texts what the file says.
  io::Json normalizer() const;
  io::Json decoder(bool is_trimmed) const;
};

// Throws Error(bad_input) unless the pieces make a vocabulary; finds the unknown one. `name` is for
// errors.
void check_pieces(SentencePieceFile& file, const std::string& name);

// Throws Error(bad_input); `name` is for errors.
SentencePieceFile parse_sentence_piece(std::string_view bytes, const std::string& name);

}  // namespace headlight::text
