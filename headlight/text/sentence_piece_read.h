// Tokenizers from files of SentencePiece. For text's own use.
#pragma once

#include <string>

#include "headlight/text/sentence_piece_file.h"
#include "headlight/text/tokenizer.h"
#include "headlight/text/tokenizer_settings.h"

namespace headlight::text {

// tokenizer.model (Llama's), spiece.model (T5's), or any other of these files, with what
// tokenizer_config.json beside it says.
Tokenizer read_sentence_piece(base::FileSystem& files, const std::string& directory,
                              const std::string& name);

// What has been read from elsewhere. The settings say what is put around a text; it is saved as
// tokenizer.model and `config`, a tokenizer_config.json.
Tokenizer make_sentence_piece(const SentencePieceFile& file, const std::string& name,
                              const TokenizerSettings& settings, const io::Json& config);

// Marian's: source.spm or target.spm, and vocab.json, or target_vocab.json where the two languages
// have vocabularies of their own.
Tokenizer read_marian(base::FileSystem& files, const std::string& directory, bool is_target);

}  // namespace headlight::text
