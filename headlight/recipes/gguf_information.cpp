// Settings under the keys that GGUF gives them, and sums over the tensors.
#include "headlight/recipes/gguf_information.h"

#include <algorithm>
#include <map>

#include "headlight/recipes/model_information.h"

namespace headlight::recipes {
namespace {

constexpr size_t kMostElements = 64;  // of an array in JSON

std::string text_setting(const io::Gguf& file, std::string_view key) {
  const io::Json* value = file.setting(key);
  return value != nullptr && value->text() != nullptr ? *value->text() : "";
}

int64_t count_setting(const io::Gguf& file, std::string_view key, int64_t otherwise) {
  const io::Json* value = file.setting(key);
  const int64_t count = value != nullptr ? value->integer().value_or(otherwise) : otherwise;
  return count > 0 ? count : otherwise;
}

std::string tokenizer_kind(const io::Gguf& file) {
  const std::string model = text_setting(file, "tokenizer.ggml.model");
  const std::string split = text_setting(file, "tokenizer.ggml.pre");
  return model + (model.empty() || split.empty() ? "" : ", ") + split;
}

// Tokens that are listed, or else the number that is told.
int64_t vocabulary_of(const io::Gguf& file, const std::string& architecture) {
  const io::Json* tokens = file.setting("tokenizer.ggml.tokens");
  if (tokens != nullptr && tokens->array() != nullptr) return std::ssize(*tokens->array());
  return count_setting(file, architecture + ".vocab_size", 0);
}

std::vector<TypeShare> type_shares(const io::Gguf& file) {
  std::map<std::string, TypeShare> by_type;
  for (const io::Gguf::Entry& entry : file.entries()) {
    const std::string type = io::name_of(entry.array.element);
    TypeShare& share = by_type[type];
    share.type = type;
    ++share.tensors;
    share.parameters += entry.array.shape.elements();
  }
  std::vector<TypeShare> shares;
  for (const auto& [type, share] : by_type) shares.push_back(share);
  std::ranges::stable_sort(shares, std::ranges::greater(), &TypeShare::parameters);
  return shares;
}

// What a model of this file could do, or why there can be none.
void find_abilities(base::FileSystem& files, const std::string& path,
                    GgufInformation& information) {
  try {
    const models::Prospect prospect = models::prospect_of(files, path);
    information.can = prospect.can;
    information.memory = prospect.running_bytes;
    information.chats = can_chat(files, path, information.can);
    text::find_tokenizer(files, path);
  } catch (const base::Error& error) {
    information.refusal = error.what();
  }
}

// A part of a model without the others is told of as it is.
io::Gguf whole_or_part(base::FileSystem& files, const std::string& path) {
  try {
    return io::open_gguf(files, path);
  } catch (const base::Error&) {
    return io::Gguf(base::open_input(files, path));
  }
}

io::Json or_null(int64_t count) { return count > 0 ? io::Json(count) : io::Json(); }
io::Json or_null(const std::string& text) { return text.empty() ? io::Json() : io::Json(text); }

}  // namespace

GgufInformation gguf_information(base::FileSystem& files, const std::string& path) {
  const io::Gguf file = whole_or_part(files, path);
  GgufInformation information;
  information.version = file.version();
  information.architecture = text_setting(file, "general.architecture");
  information.name = text_setting(file, "general.name");
  information.parts = count_setting(file, "split.count", 1);
  information.types = type_shares(file);
  for (const TypeShare& share : information.types) information.parameters += share.parameters;
  information.vocab_size = vocabulary_of(file, information.architecture);
  information.context_length = count_setting(file, information.architecture + ".context_length", 0);
  information.tokenizer = tokenizer_kind(file);
  information.memory = sizeof(float) * static_cast<uint64_t>(information.parameters);
  information.settings = file.settings();
  find_abilities(files, path, information);
  return information;
}

io::Json gguf_information_json(const GgufInformation& information) {
  io::Json::Array types;
  for (const TypeShare& share : information.types) {
    types.emplace_back(io::Json::Object{
        {"type", share.type}, {"tensors", share.tensors}, {"parameters", share.parameters}});
  }
  const std::vector<std::string_view> can = names_of(information.can);
  io::Json::Object settings;
  for (const auto& [key, value] : information.settings) {
    const bool is_long = value.array() != nullptr && value.array()->size() > kMostElements;
    settings.emplace_back(
        key, is_long ? io::Json(io::Json::Object{{"elements", value.array()->size()}}) : value);
  }
  return io::Json::Object{{"format", "gguf"},
                          {"version", information.version},
                          {"model_type", or_null(information.architecture)},
                          {"name", or_null(information.name)},
                          {"parts", information.parts},
                          {"parameters", information.parameters},
                          {"types", types},
                          {"vocab_size", or_null(information.vocab_size)},
                          {"context_length", or_null(information.context_length)},
                          {"tokenizer", or_null(information.tokenizer)},
                          {"can", io::Json::Array(can.begin(), can.end())},
                          {"refused", or_null(information.refusal)},
                          {"memory_bytes", static_cast<int64_t>(information.memory)},
                          {"settings", settings}};
}

}  // namespace headlight::recipes
