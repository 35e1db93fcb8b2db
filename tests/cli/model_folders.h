// Small model folders with tokenizers, for tests of commands that read text.
#pragma once

#include <string>

#include "tests/base/temporary_folder.h"

namespace headlight::test {

// All are made at once and gone with the object.
class ModelFolders {
 public:
  ModelFolders();

  // A GPT over characters that continues any prompt of one character with kScript and then ends;
  // its context ends there too.
  static constexpr const char* kScript = "ağaç: 한국 yol.";
  std::string gpt() const { return folder_ / "gpt"; }
  // The same without a tokenizer.
  std::string bare_gpt() const { return folder_ / "bare"; }
  // Random numbers, over the characters a to j and the space; contexts of 24.
  std::string translator() const { return folder_ / "translator"; }
  // The same without a token for what it does not know.
  std::string strict_translator() const { return folder_ / "strict"; }
  // Random numbers, over a few words; a context of 12.
  std::string encoder() const { return folder_ / "encoder"; }

  const TemporaryFolder& files() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

// One set for all tests, which only read it.
const ModelFolders& model_folders();

}  // namespace headlight::test
