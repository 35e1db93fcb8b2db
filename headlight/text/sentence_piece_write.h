// Files of SentencePiece, written. For text's own use.
#pragma once

#include <string>

#include "headlight/text/sentence_piece_file.h"

namespace headlight::text {

// The bytes of a tokenizer.model that says the same: parse_sentence_piece() gives it back.
std::string sentence_piece_bytes(const SentencePieceFile& file);

}  // namespace headlight::text
