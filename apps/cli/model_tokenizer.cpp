// Tokenizer and model must agree on the ids.
#include "apps/cli/model_tokenizer.h"

namespace headlight::cli {

using base::Error;
using base::ErrorKind;

std::optional<text::Tokenizer> find_tokenizer(const Session& session, const LoadedModel& loaded) {
  if (!text::has_tokenizer(session.files, loaded.folder)) return std::nullopt;
  text::Tokenizer tokenizer = text::load_tokenizer(session.files, loaded.folder);
  // What the model reads as text.
  const int64_t ids = loaded.model->source_vocab_size();
  if (tokenizer.size() > ids) {
    throw Error(ErrorKind::bad_input, "tokenizer", loaded.folder,
                "has " + std::to_string(tokenizer.size()) + " tokens, the model has " +
                    std::to_string(ids) + " ids");
  }
  return tokenizer;
}

text::Tokenizer need_tokenizer(const Session& session, const LoadedModel& loaded,
                               std::string_view way_out) {
  if (auto tokenizer = find_tokenizer(session, loaded)) return *std::move(tokenizer);
  throw Error(ErrorKind::bad_input, "model", loaded.folder,
              std::string("has no tokenizer: no tokenizer.json, vocab.json with merges.txt, "
                          "encoder.json with vocab.bpe, or vocab.txt")
                  .append(way_out));
}

}  // namespace headlight::cli
