// ModelsWithFiles: models that come with the program, and models in a folder of the test's own.
#pragma once

#include <filesystem>
#include <string>

#include "tests/recipes/support.h"

namespace headlight::recipes {

class ModelsWithFiles : public testing::Test {
 protected:
  LoadedModel numbers() { return load_named_model(files_, "numbers"); }
  LoadedModel stories() { return load_named_model(files_, "stories"); }
  LoadedModel thrones() { return load_named_model(files_, "thrones"); }

  std::string saved(const std::string& name, const models::Model& model) {
    std::filesystem::create_directory(folder_ / name);
    models::save_model(files_, folder_ / name, model);
    return folder_ / name;
  }

  // A BERT over the words of a text, with what its folder needs.
  LoadedModel words_bert(const std::string& text) {
    const std::string_view view = text;
    const text::Tokenizer tokenizer =
        text::word_tokenizer({&view, 1}, {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"});
    models::BertConfig config = models::small_bert();
    config.vocab_size = tokenizer.size();
    models::Bert model(config);
    models::fill(model, 3);
    const std::string path = saved("bert", model);
    tokenizer.save(files_, path);
    return load_named_model(files_, path);
  }

  TemporaryFolder folder_;
  FilesWithEmbedded files_;
  base::ThreadPool threads_{2};
};

}  // namespace headlight::recipes
