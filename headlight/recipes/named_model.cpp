// Tokenizer and model must agree on the ids.
#include "headlight/recipes/named_model.h"

#include <algorithm>
#include <array>

#include "headlight/io/io.h"
#include "headlight/recipes/embedded.h"
#include "headlight/train/train.h"

namespace headlight::recipes {

using base::Error;
using base::ErrorKind;

namespace {

constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr const char* kCheckpointIndexFile = "pytorch_model.bin.index.json";
constexpr std::array kTokenizerFiles = {
    "tokenizer.json",    "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "tokenizer.model",       "vocab.json",
    "merges.txt",        "encoder.json",          "vocab.bpe",
    "vocab.txt",         "spiece.model",          "source.spm",
    "target.spm",        "target_vocab.json"};

// None where there is no index, or one that cannot be read: that is told when the model is.
void add_shards(base::FileSystem& files, const std::string& index_path,
                std::vector<std::string>& names) {
  try {
    const io::Json index = io::read_json(files, index_path);
    const io::Json* map = index.find("weight_map");
    if (map == nullptr || map->object() == nullptr) return;
    for (const auto& [tensor, shard] : *map->object()) {
      if (shard.text() == nullptr || std::ranges::find(names, *shard.text()) != names.end())
        continue;
      names.push_back(*shard.text());
    }
  } catch (const Error&) {
  }
}

}  // namespace

std::vector<std::string> model_file_names(base::FileSystem& files, const std::string& folder) {
  std::vector<std::string> names = {
      "config.json",       "generation_config.json", "model.safetensors",   kIndexFile,
      "pytorch_model.bin", kCheckpointIndexFile,     "chat_template.jinja", "adapter_config.json",
      "run.json"};
  names.insert(names.end(), kTokenizerFiles.begin(), kTokenizerFiles.end());
  for (const char* index : {kIndexFile, kCheckpointIndexFile}) {
    add_shards(files, folder + "/" + index, names);
  }
  return names;
}

LoadedModel load_named_model(base::FileSystem& files, const std::string& name, bool packed,
                             int threads) {
  const std::string place = model_place(files, name);
  LoadedModel loaded{.folder = model_folder(files, name), .model = {}};
  if (place != loaded.folder) loaded.weights = place;
  if (packed) {
    loaded.tokenizer = std::async(
        [&files, folder = loaded.folder] { return text::find_tokenizer(files, folder); });
  }
  loaded.model = models::load_model(files, place, models::known_architectures(), &loaded.notes,
                                    packed, threads);
  return loaded;
}

std::optional<text::Tokenizer> find_tokenizer(base::FileSystem& files, const LoadedModel& loaded) {
  std::optional<text::Tokenizer> tokenizer = loaded.tokenizer.valid()
                                                 ? loaded.tokenizer.get()
                                                 : text::find_tokenizer(files, loaded.folder);
  if (!tokenizer) return std::nullopt;
  // What the model reads as text.
  const int64_t ids = loaded.model->source_vocab_size();
  if (tokenizer->size() > ids) {
    throw Error(ErrorKind::bad_input, "tokenizer", loaded.folder,
                "has " + std::to_string(tokenizer->size()) + " tokens, the model has " +
                    std::to_string(ids) + " ids");
  }
  return tokenizer;
}

std::string tokenizer_sum(base::FileSystem& files, const LoadedModel& loaded) {
  if (io::is_gguf_file(files, loaded.folder)) return train::file_sum(files, loaded.folder);
  train::Checksum sum;
  for (const char* name : kTokenizerFiles) {
    const std::string path = loaded.folder + "/" + name;
    if (!base::exists(files, path)) continue;
    const std::string line = name + (" " + train::file_sum(files, path)) + "\n";
    sum.add(std::as_bytes(std::span(line)));
  }
  return sum.text();
}

text::Tokenizer need_tokenizer(base::FileSystem& files, const LoadedModel& loaded,
                               std::string_view way_out) {
  if (auto tokenizer = find_tokenizer(files, loaded)) return *std::move(tokenizer);
  throw Error(ErrorKind::bad_input, "model", loaded.folder,
              std::string("has no tokenizer: no tokenizer.json, vocab.json with merges.txt, "
                          "encoder.json with vocab.bpe, source.spm with vocab.json, "
                          "tokenizer.model, spiece.model or vocab.txt")
                  .append(way_out));
}

}  // namespace headlight::recipes
