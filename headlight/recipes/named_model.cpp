// Tokenizer and model must agree on the ids.
#include "headlight/recipes/named_model.h"

#include "headlight/recipes/embedded.h"

namespace headlight::recipes {

using base::Error;
using base::ErrorKind;

LoadedModel load_named_model(base::FileSystem& files, const std::string& name) {
  LoadedModel loaded{.folder = model_folder(files, name), .model = {}};
  loaded.model =
      models::load_model(files, loaded.folder, models::known_architectures(), &loaded.notes);
  return loaded;
}

std::optional<text::Tokenizer> find_tokenizer(base::FileSystem& files, const LoadedModel& loaded) {
  if (!text::has_tokenizer(files, loaded.folder)) return std::nullopt;
  text::Tokenizer tokenizer = text::load_tokenizer(files, loaded.folder);
  // What the model reads as text.
  const int64_t ids = loaded.model->source_vocab_size();
  if (tokenizer.size() > ids) {
    throw Error(ErrorKind::bad_input, "tokenizer", loaded.folder,
                "has " + std::to_string(tokenizer.size()) + " tokens, the model has " +
                    std::to_string(ids) + " ids");
  }
  return tokenizer;
}

text::Tokenizer need_tokenizer(base::FileSystem& files, const LoadedModel& loaded,
                               std::string_view way_out) {
  if (auto tokenizer = find_tokenizer(files, loaded)) return *std::move(tokenizer);
  throw Error(ErrorKind::bad_input, "model", loaded.folder,
              std::string("has no tokenizer: no tokenizer.json, vocab.json with merges.txt, "
                          "encoder.json with vocab.bpe, or vocab.txt")
                  .append(way_out));
}

}  // namespace headlight::recipes
