// Folders as training would leave them.
#include "tests/cli/model_folders.h"

#include <filesystem>

#include "tests/infer/support.h"

namespace headlight::test {
namespace {

void save(const std::string& folder, const models::Model& model, const text::Tokenizer* tokenizer) {
  base::make_directories(base::real_files(), folder);
  models::save_model(base::real_files(), folder, model);
  if (tokenizer != nullptr) tokenizer->save(base::real_files(), folder);
}

void save_gpts(const std::string& folder, const std::string& bare_folder) {
  const std::string_view script[] = {ModelFolders::kScript};
  const text::Tokenizer characters = text::char_tokenizer(script, {"<end>", "<start>"});
  std::vector<int64_t> ids = characters.encode(script[0]);
  ids.push_back(*characters.special().eos);
  const models::Gpt model = infer::scripted_gpt(ids, characters.size());
  save(folder, model, &characters);
  save(bare_folder, model, nullptr);
}

void save_translator(const std::string& folder) {
  const std::string_view letters[] = {"abcdefghij "};
  const text::Tokenizer characters = text::char_tokenizer(letters, text::sequence_tokens());
  models::Seq2SeqConfig config = models::small_seq2seq();
  config.vocab_size = characters.size();
  config.max_position_embeddings = 24;
  config.special_ids = {.padding = 0, .begin = 1, .end = 2, .decoder_start = 1};
  models::Seq2Seq model(config);
  models::fill(model, 12);
  save(folder, model, &characters);
}

void save_encoder(const std::string& folder) {
  models::Bert model(models::small_bert());
  models::fill(model, 13);
  save(folder, model, nullptr);
  base::write_file(base::real_files(), folder + "/vocab.txt",
                   "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nsmall\nhouse\n.\n");
}

}  // namespace

ModelFolders::ModelFolders() {
  save_gpts(gpt(), bare_gpt());
  save_translator(translator());
  std::filesystem::copy(translator(), strict_translator());
  std::string tokenizer = folder_.get("strict/tokenizer.json");
  const std::string unknown = R"("unk_token":"<unk>")";
  tokenizer.replace(tokenizer.find(unknown), unknown.size(), R"("unk_token":"<none>")");
  folder_.put("strict/tokenizer.json", tokenizer);
  save_encoder(encoder());
}

const ModelFolders& model_folders() {
  static const ModelFolders folders;
  return folders;
}

}  // namespace headlight::test
