// Tokenizers in GGUF files: settings under "tokenizer.". For text's own use.
#pragma once

#include <string>

#include "headlight/io/io.h"
#include "headlight/text/tokenizer.h"

namespace headlight::text {

// Throws Error(bad_input) for a kind, or a way to split texts, that is not known, by its name.
Tokenizer read_gguf_tokenizer(const io::Gguf& file);

}  // namespace headlight::text
