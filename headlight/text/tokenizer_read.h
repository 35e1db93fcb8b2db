// Tokenizers from files.
#pragma once

#include <string>

#include "headlight/io/io.h"
#include "headlight/text/tokenizer.h"

namespace headlight::text {

// A folder that holds tokenizer.json, or vocab.json and merges.txt, or encoder.json and vocab.bpe,
// or source.spm and vocab.json (Marian's, for what is translated), or tokenizer.model, or
// spiece.model, or vocab.txt, looked for in this order; or one of these files itself, or a GGUF
// file. Throws Error(bad_input).
Tokenizer load_tokenizer(base::FileSystem& files, const std::string& path);

// The same for what a translator writes, which of Marian's is another: its target.spm.
Tokenizer load_target_tokenizer(base::FileSystem& files, const std::string& directory);

// Whether the folder, or the GGUF file, holds a tokenizer.
bool has_tokenizer(base::FileSystem& files, const std::string& directory);
// That tokenizer; or nothing.
std::optional<Tokenizer> find_tokenizer(base::FileSystem& files, const std::string& directory);

// The chat template that a GGUF file holds; empty: none.
std::string gguf_chat_template(const io::Gguf& file);

// A tokenizer.json in memory; `name` is for errors.
Tokenizer parse_tokenizer(std::string_view json, const std::string& name);

}  // namespace headlight::text
