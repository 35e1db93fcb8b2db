// Model folders: the configuration decides the architecture, the tensors' names decide the rest.
#include "headlight/models/folder.h"

#include <algorithm>
#include <array>

#include "headlight/models/config_reader.h"
#include "headlight/models/folder_files.h"

namespace headlight::models {
namespace {

using base::Error;
using base::ErrorKind;

// Running takes the weights twice: as they are and packed for the kernels.
void check_running_memory(base::FileSystem& files, const std::string& path, const ModelPlan& plan) {
  const auto numbers = static_cast<double>(2 * plan.parameters + plan.tables);
  base::check_memory(files, sizeof(float) * numbers, "model", path);
}

const Architecture& architecture_of(const io::Json& config, const std::string& path,
                                    const Registry& registry) {
  return *registry.find(ConfigReader(config, path).choice("model_type", registry.types()));
}

// What generating programs read of generation_config.json rather than of config.json.
io::Json with_generation_ids(base::FileSystem& files, const std::string& folder, io::Json config) {
  constexpr std::array<std::string_view, 4> kIds = {"pad_token_id", "bos_token_id", "eos_token_id",
                                                    "decoder_start_token_id"};
  const std::string path = folder + "/" + kGenerationFile;
  if (config.object() == nullptr || !base::exists(files, path)) return config;
  const io::Json settings = io::read_json(files, path);
  for (const std::string_view key : kIds) {
    const io::Json* id = settings.find(key);
    if (id == nullptr || id->is_null()) continue;
    std::erase_if(*config.object(), [&](const io::Json::Member& one) { return one.first == key; });
    config.object()->emplace_back(key, *id);
  }
  return config;
}

// The tensors under today's names. Two spellings of one name are two tensors for one parameter.
nn::StoredState named_state(const Architecture& architecture, const io::Safetensors& tensors,
                            const std::string& where) {
  nn::StoredState state = stored_state(tensors);
  if (architecture.modern_name == nullptr) return state;
  nn::StoredState modern;
  for (auto& [name, tensor] : state) {
    const std::string today = architecture.modern_name(name);
    if (today != name && state.contains(today)) {
      throw Error(
          ErrorKind::bad_input, "load", where,
          name + " and " + today + " are one tensor under two names; leave one of them out");
    }
    modern[today] = tensor;
  }
  return modern;
}

// The first copy whose numbers are not those of the tensor it is tied to; or nothing.
std::optional<Model::TiedCopy> first_untied(const Model& model, const io::Safetensors& tensors) {
  for (const Model::TiedCopy& copy : model.tied_copies()) {
    const io::Safetensors::Entry* stored = tensors.find(copy.name);
    const io::Safetensors::Entry* original = tensors.find(copy.original);
    if (stored == nullptr || original == nullptr) continue;
    if (!tensors.same_numbers(*stored, *original)) return copy;
  }
  return std::nullopt;
}

// As transformers does: what is stored counts, whatever the configuration says of ties.
std::unique_ptr<Model> untied_model(base::FileSystem& files, const std::string& path,
                                    ModelPlan plan, std::unique_ptr<Model> model,
                                    const io::Safetensors& tensors,
                                    std::vector<std::string>* notes) {
  while (const auto copy = first_untied(*model, tensors)) {
    ModelPlan untied = plan.untied ? plan.untied(copy->name) : ModelPlan{};
    if (!untied.make) {
      throw Error(ErrorKind::bad_input, "load", tensors.path_of(*tensors.find(copy->name)),
                  copy->name + " has other numbers than " + copy->original +
                      ", which stands for both; leave one of them out");
    }
    check_running_memory(files, path, untied);
    if (notes != nullptr) {
      notes->push_back(copy->name + " has other numbers than " + copy->original +
                       ", to which it would be tied: it is used as it is stored");
    }
    plan = std::move(untied);
    model = plan.make();
  }
  return model;
}

}  // namespace

nn::StateDict read_state(const io::Safetensors& tensors) {
  nn::StateDict state;
  for (const io::Safetensors::Entry& entry : tensors.entries()) {
    state[entry.name] = tensors.load(entry);
  }
  return state;
}

nn::StoredState stored_state(const io::Safetensors& tensors) {
  nn::StoredState state;
  for (const io::Safetensors::Entry& entry : tensors.entries()) {
    state[entry.name] = {dtype_of(entry.array.element), entry.array.shape,
                         [&tensors, &entry] { return tensors.load(entry); }};
  }
  return state;
}

std::unique_ptr<Model> load_model(base::FileSystem& files, const std::string& folder,
                                  const Registry& registry, std::vector<std::string>* notes) {
  check_model_folder(files, folder);
  const std::string path = folder + "/" + kConfigFile;
  const io::Json config = with_generation_ids(files, folder, io::read_json(files, path));
  const io::Safetensors tensors = open_weights(files, folder);
  const Architecture& architecture = architecture_of(config, path, registry);
  const ModelPlan plan = architecture.read(config, path, tensors);
  check_running_memory(files, path, plan);
  const std::string where =
      tensors.entries().empty() ? path : tensors.path_of(tensors.entries().front());
  nn::StoredState state = named_state(architecture, tensors, where);
  std::unique_ptr<Model> model = plan.make();
  model->check_state(state, where);
  model = untied_model(files, path, plan, std::move(model), tensors, notes);
  // They have been compared.
  for (const Model::TiedCopy& copy : model->tied_copies()) state.erase(copy.name);
  model->load_state(state, where);
  return model;
}

void check_generation_settings(base::FileSystem& files, const std::string& folder) {
  constexpr std::array<std::string_view, 10> kTokens = {
      "suppress_tokens",     "begin_suppress_tokens",
      "bad_words_ids",       "forced_bos_token_id",
      "forced_eos_token_id", "forced_decoder_ids",
      "force_words_ids",     "sequence_bias",
      "constraints",         "exponential_decay_length_penalty"};
  constexpr std::array<std::string_view, 4> kCounts = {
      "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "min_length", "min_new_tokens"};
  const std::string path = folder + "/" + kGenerationFile;
  if (!base::exists(files, path)) return;
  const io::Json settings = io::read_json(files, path);
  const ConfigReader reader(settings, path);
  const std::string way_out = "which is not followed here; remove it to generate without";
  for (const std::string_view key : kTokens) reader.refuse_if_set(key, way_out);
  for (const std::string_view key : kCounts) {
    if (reader.integer(key, 0, INT64_MAX, 0) != 0) reader.refuse_if_set(key, way_out);
  }
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
