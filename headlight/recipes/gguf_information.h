// What a GGUF file holds, for those who choose one.
#pragma once

#include <string>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/models/models.h"

namespace headlight::recipes {

// Tensors of one type.
struct TypeShare {
  std::string type;  // "Q4_K"
  int64_t tensors = 0;
  int64_t parameters = 0;
};

struct GgufInformation {
  int version = 0;
  std::string architecture;  // "llama"; empty: the file does not say
  std::string name;
  int64_t parts = 1;  // files that the model is split into
  int64_t parameters = 0;
  std::vector<TypeShare> types;  // those with most parameters first
  int64_t vocab_size = 0;        // 0: the file does not say, as below
  int64_t context_length = 0;
  std::string tokenizer;  // its kind and, after a comma, how it splits: "gpt2, smollm"
  uint64_t memory = 0;    // bytes that its weights take; for one that is refused, in float32
  models::Capabilities can;
  bool chats = false;   // continues texts and has a chat template
  std::string refusal;  // why it does not run here; empty: it does
  io::Gguf::Settings settings;
};

// Reads the file's settings and descriptions. Throws Error(bad_input).
GgufInformation gguf_information(base::FileSystem& files, const std::string& path);

// {"format":"gguf","version","model_type","name","parts","parameters","types":[{"type","tensors",
// "parameters"}],"vocab_size","context_length","tokenizer","can","refused","memory_bytes","settings"};
// what the file does not say is null, and of an array with more than 64 elements there is
// {"elements": N}.
io::Json gguf_information_json(const GgufInformation& information);

}  // namespace headlight::recipes
