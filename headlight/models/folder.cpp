// Model folders: the configuration decides the architecture, the tensors' names decide the rest.
#include "headlight/models/folder.h"

#include <array>

#include "headlight/models/config_reader.h"
#include "headlight/models/encoder.h"
#include "headlight/models/gpt.h"
#include "headlight/models/seq2seq.h"

namespace headlight::models {
namespace {

using base::Error;
using base::ErrorKind;

constexpr const char* kConfigFile = "config.json";
constexpr const char* kTensorFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

// Numbers that are computed when the model is made.
int64_t table_size(const GptConfig& /*config*/) { return 0; }
int64_t table_size(const EncoderConfig& /*config*/) { return 0; }
int64_t table_size(const Seq2SeqConfig& config) {
  return config.learned_positions ? 0 : 2 * config.max_position_embeddings * config.d_model;
}

// Running takes the weights twice: as they are and packed for the kernels.
template <class Config>
void check_memory(base::FileSystem& files, const std::string& path, const Config& config) {
  const auto numbers = static_cast<double>(2 * parameter_count(config) + table_size(config));
  base::check_memory(files, sizeof(float) * numbers, "model", path);
}

bool any_starts_with(const io::Safetensors& tensors, std::string_view prefix) {
  for (const io::Safetensors::Entry& entry : tensors.entries()) {
    if (entry.name.starts_with(prefix)) return true;
  }
  return false;
}

bool has(const io::Safetensors& tensors, const std::string& name) {
  return tensors.find(name) != nullptr;
}

// What the configuration leaves open and the tensors show.
void complete(GptConfig& config, const io::Safetensors& tensors) {
  if (!any_starts_with(tensors, config.prefix)) config.prefix.clear();
}

void complete(EncoderConfig& config, const io::Safetensors& tensors) {
  if (!any_starts_with(tensors, config.prefix)) config.prefix.clear();
  config.pooler = has(tensors, config.prefix + "pooler.dense.weight");
  config.masked_words = has(tensors, "cls.predictions.transform.dense.weight");
}

void complete(Seq2SeqConfig& config, const io::Safetensors& tensors) {
  config.shared_embeddings = has(tensors, "shared.weight");
  config.head_bias = has(tensors, "lm_head.bias");
}

template <class Architecture>
std::unique_ptr<Model> build(base::FileSystem* files, const io::Json& json, const std::string& path,
                             const io::Safetensors& tensors) {
  auto config = Architecture::read_config(json, path);
  complete(config, tensors);
  if (files != nullptr) check_memory(*files, path, config);
  return std::make_unique<Architecture>(config);
}

std::unique_ptr<Model> load(base::FileSystem* files, const io::Json& config,
                            const std::string& path, const io::Safetensors& tensors) {
  constexpr std::array<std::string_view, 3> kTypes = {"gpt2", "bert", "headlight-seq2seq"};
  const std::string_view type = ConfigReader(config, path).choice("model_type", kTypes);
  std::unique_ptr<Model> model;
  if (type == kTypes[0]) model = build<Gpt>(files, config, path, tensors);
  if (type == kTypes[1]) model = build<Encoder>(files, config, path, tensors);
  if (type == kTypes[2]) model = build<Seq2Seq>(files, config, path, tensors);
  const std::string where =
      tensors.entries().empty() ? path : tensors.path_of(tensors.entries().front());
  model->load_state(read_state(tensors), where);
  return model;
}

// BERT's norms were once stored as gamma and beta.
std::string modern_name(const std::string& name) {
  const auto renamed = [&name](std::string_view old, const char* now) {
    return name.substr(0, name.size() - old.size()) + now;
  };
  if (name.ends_with("LayerNorm.gamma")) return renamed("gamma", "weight");
  if (name.ends_with("LayerNorm.beta")) return renamed("beta", "bias");
  return name;
}

}  // namespace

nn::StateDict read_state(const io::Safetensors& tensors) {
  nn::StateDict state;
  for (const io::Safetensors::Entry& entry : tensors.entries()) {
    state[modern_name(entry.name)] = tensors.load(entry);
  }
  return state;
}

std::unique_ptr<Model> load_model(const io::Json& config, const std::string& path,
                                  const io::Safetensors& tensors) {
  return load(nullptr, config, path, tensors);
}

std::unique_ptr<Model> load_model(base::FileSystem& files, const std::string& folder) {
  base::FileStatus status;
  if (files.path_status(folder, status) < 0)
    throw Error(ErrorKind::bad_input, "model", folder, "there is no such folder");
  if (status.kind != base::FileStatus::Kind::directory) {
    throw Error(ErrorKind::bad_input, "model", folder,
                "is not a folder; a model is a folder with a config.json and its weights");
  }
  const std::string path = folder + "/" + kConfigFile;
  const io::Json config = io::read_json(files, path);
  const std::string index = folder + "/" + kIndexFile;
  const bool sharded = base::exists(files, index);
  const std::string whole = folder + "/" + kTensorFile;
  return load(&files, config, path,
              io::open_safetensors(files, sharded && !base::exists(files, whole) ? index : whole));
}

void write_state(base::FileSystem& files, const std::string& path, const Model& model) {
  std::vector<io::NamedTensor> tensors;
  for (const auto& [name, tensor] : model.state()) tensors.push_back({name, tensor});
  io::write_safetensors(files, path, tensors, {{"format", "pt"}});
}

void save_model(base::FileSystem& files, const std::string& folder, const Model& model) {
  write_state(files, folder + "/" + kTensorFile, model);
  base::write_file(files, folder + "/" + kConfigFile, io::json_text(model.config()) + "\n");
}

}  // namespace headlight::models
