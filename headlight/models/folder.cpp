// Model folders: the configuration decides the architecture, the tensors' names decide the rest.
#include "headlight/models/folder.h"

#include <algorithm>
#include <array>
#include <map>

#include "headlight/models/classes_config.h"
#include "headlight/models/config_reader.h"
#include "headlight/models/folder_files.h"
#include "headlight/models/gguf_config.h"
#include "headlight/models/gguf_tensors.h"

namespace headlight::models {
namespace {

using base::Error;
using base::ErrorKind;

void check_running_memory(base::FileSystem& files, const std::string& path, uint64_t weights,
                          const ModelPlan& plan) {
  const auto tables = sizeof(float) * static_cast<double>(plan.tables);
  base::check_memory(files, static_cast<double>(weights) + tables, "model", path);
}

// At least; what is packed may stay in 16 bits.
uint64_t weight_bytes(const ModelPlan& plan, bool packed) {
  return (packed ? sizeof(uint16_t) : sizeof(float)) * static_cast<uint64_t>(plan.parameters);
}

// The one type whose name begins the names of tensors ("bert.encoder.…"): classes of transformers
// put it there, and configurations of its first years do not name it. Without that, two kinds of
// segments are BERT's: others of the time had none, or one. Empty: none, or several.
std::string_view type_by_names(const Registry& registry, const io::StoredTensors& tensors,
                               const io::Json& config) {
  const io::Json* segments = config.find("type_vocab_size");
  if (any_starts_with(tensors, "embeddings.token_type_embeddings.") && segments != nullptr &&
      segments->integer() == 2) {
    return "bert";
  }
  std::string_view found;
  for (const std::string_view type : registry.types()) {
    if (!any_starts_with(tensors, std::string(type) + ".")) continue;
    if (!found.empty()) return "";
    found = type;
  }
  return found;
}

const Architecture& architecture_of(const io::Json& config, const std::string& path,
                                    const Registry& registry, const io::StoredTensors& tensors,
                                    std::vector<std::string>* notes) {
  const ConfigReader reader(config, path);
  const std::string_view by_names =
      config.find("model_type") == nullptr ? type_by_names(registry, tensors, config) : "";
  if (by_names.empty()) return *registry.find(reader.choice("model_type", registry.types()));
  if (notes != nullptr) {
    notes->push_back(std::string(kConfigFile) +
                     " names no model_type; by the names of its tensors it is " +
                     std::string(by_names));
  }
  return *registry.find(by_names);
}

bool generates(const Architecture& architecture, const io::Json& config) {
  const Capabilities& can = architecture.capabilities;
  return (can.continues_prompt || can.translates) && !names_classifier(config);
}

// What generating programs read of generation_config.json, where there is one, rather than of
// config.json.
io::Json with_generation_ids(base::FileSystem& files, const std::string& folder, io::Json config) {
  constexpr std::array<std::string_view, 4> kIds = {"pad_token_id", "bos_token_id", "eos_token_id",
                                                    "decoder_start_token_id"};
  constexpr std::array<std::string_view, 2> kBanned = {"bad_words_ids", "suppress_tokens"};
  const std::string path = folder + "/" + kGenerationFile;
  if (!base::exists(files, path)) return config;
  const io::Json settings = io::read_json(files, path);
  const auto take = [&](std::string_view key, const io::Json* value) {
    std::erase_if(*config.object(), [&](const io::Json::Member& one) { return one.first == key; });
    if (value != nullptr) config.object()->emplace_back(key, *value);
  };
  for (const std::string_view key : kIds) {
    const io::Json* id = settings.find(key);
    if (id != nullptr && !id->is_null()) take(key, id);
  }
  for (const std::string_view key : kBanned) take(key, settings.find(key));
  return config;
}

// transformers lets this key turn causal attention into attention both ways, and back.
void check_causality(const Architecture& architecture, const ConfigReader& reader) {
  const Capabilities& can = architecture.capabilities;
  if (can.translates) {
    reader.require("is_causal", io::Json());
  } else {
    reader.require("is_causal", can.continues_prompt);
  }
}

// The tensors under today's names. Two spellings of one name are two tensors for one parameter.
nn::StoredState named_state(const Architecture& architecture, const io::StoredTensors& tensors,
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

// Where a parameter's numbers are: under its own name, or under that of a copy that stands in.
const io::StoredTensors::Entry* original_of(const Model& model, const io::StoredTensors& tensors,
                                            const std::string& name) {
  const io::StoredTensors::Entry* original = tensors.find(name);
  for (const Model::TiedCopy& copy : model.tied_copies()) {
    if (original != nullptr) break;
    if (copy.stands_in && copy.original == name) original = tensors.find(copy.name);
  }
  return original;
}

// The first copy whose numbers are not those of the tensor it is tied to; or nothing.
std::optional<Model::TiedCopy> first_untied(const Model& model, const io::StoredTensors& tensors) {
  for (const Model::TiedCopy& copy : model.tied_copies()) {
    const io::StoredTensors::Entry* stored = tensors.find(copy.name);
    const io::StoredTensors::Entry* original = original_of(model, tensors, copy.original);
    if (stored == nullptr || original == nullptr) continue;
    if (!tensors.same_numbers(*stored, *original)) return copy;
  }
  return std::nullopt;
}

// As transformers does: what is stored counts, whatever the configuration says of ties.
std::unique_ptr<Model> untied_model(base::FileSystem& files, const std::string& path,
                                    ModelPlan plan, std::unique_ptr<Model> model,
                                    const io::StoredTensors& tensors,
                                    std::vector<std::string>* notes, bool packed) {
  while (const auto copy = first_untied(*model, tensors)) {
    ModelPlan untied = plan.untied ? plan.untied(copy->name) : ModelPlan{};
    if (!untied.make) {
      throw Error(ErrorKind::bad_input, "load", tensors.path_of(*tensors.find(copy->name)),
                  copy->name + " has other numbers than " + copy->original +
                      ", which stands for both; leave one of them out");
    }
    check_running_memory(files, path, weight_bytes(untied, packed), untied);
    if (notes != nullptr) {
      notes->push_back(copy->name + " has other numbers than " + copy->original +
                       ", to which it would be tied: it is used as it is stored");
    }
    plan = std::move(untied);
    model = plan.make();
  }
  return model;
}

// A copy that stands for its original becomes it where the file has no other.
void let_copies_stand_in(const Model& model, nn::StoredState& state) {
  for (const Model::TiedCopy& copy : model.tied_copies()) {
    if (!copy.stands_in || state.contains(copy.original) || !state.contains(copy.name)) continue;
    auto node = state.extract(copy.name);
    node.key() = copy.original;
    state.insert(std::move(node));
  }
}

// What a model is made from, whether it lies in a folder or in one file.
struct ModelSource {
  std::string path;  // of the configuration
  io::Json config;
  io::StoredTensors tensors;
  const Architecture* architecture = nullptr;
  bool is_gguf = false;
};

ModelSource open_source(base::FileSystem& files, const std::string& place, const Registry& registry,
                        std::vector<std::string>* notes) {
  const ModelFiles found = find_model_files(files, place);
  if (io::is_gguf_path(found.weights)) {
    const io::Gguf file = io::open_gguf(files, found.weights);
    io::Json config = gguf_config(GgufSettingsReader(file));
    io::StoredTensors tensors = gguf_tensors(file, *config.find("model_type")->text());
    const Architecture& architecture =
        architecture_of(config, found.weights, registry, tensors, notes);
    return {found.weights, std::move(config), std::move(tensors), &architecture, true};
  }
  const std::string path = found.folder + "/" + kConfigFile;
  io::Json config = io::read_json(files, path);
  io::StoredTensors tensors = io::open_tensors(files, found.weights);
  const Architecture& architecture = architecture_of(config, path, registry, tensors, notes);
  check_causality(architecture, ConfigReader(config, path));
  if (notes != nullptr && config.find("auto_map") != nullptr) {
    notes->push_back(std::string(kConfigFile) +
                     " names code of its own (auto_map), which is not run: the model is computed "
                     "as a " +
                     std::string(architecture.model_type));
  }
  if (generates(architecture, config))
    config = with_generation_ids(files, found.folder, std::move(config));
  return {path, std::move(config), std::move(tensors), &architecture};
}

}  // namespace

nn::StateDict read_state(const io::StoredTensors& tensors) {
  nn::StateDict state;
  for (const io::StoredTensors::Entry& entry : tensors.entries()) {
    state[entry.name] = tensors.load(entry);
  }
  return state;
}

nn::StoredState stored_state(const io::StoredTensors& tensors) {
  nn::StoredState state;
  for (const io::StoredTensors::Entry& entry : tensors.entries()) {
    nn::StoredTensor& stored = state[entry.name];
    stored.dtype = dtype_of(entry.array.element);
    stored.shape = entry.array.shape;
    stored.load = [&tensors, &entry] { return tensors.load(entry); };
    if (!has_rows(entry.array)) continue;
    stored.load_rows = [&tensors, &entry](int64_t begin, int64_t count, std::byte* to) {
      tensors.load_rows(entry, begin, count, to);
    };
  }
  return state;
}

std::unique_ptr<Model> load_model(base::FileSystem& files, const std::string& place,
                                  const Registry& registry, std::vector<std::string>* notes,
                                  bool packed, int threads) {
  const ModelSource source = open_source(files, place, registry, notes);
  const auto& [path, config, tensors, architecture, is_gguf] = source;
  const ModelPlan plan = architecture->read(config, path, tensors);
  check_running_memory(files, path, weight_bytes(plan, packed), plan);
  const std::string where =
      tensors.entries().empty() ? path : tensors.path_of(tensors.entries().front());
  nn::StoredState state = named_state(*architecture, tensors, where);
  if (is_gguf) undo_gguf_changes(config, state);
  std::unique_ptr<Model> model = plan.make();
  let_copies_stand_in(*model, state);
  model->check_state(state, where);
  model = untied_model(files, path, plan, std::move(model), tensors, notes, packed);
  // They have been compared.
  for (const Model::TiedCopy& copy : model->tied_copies()) state.erase(copy.name);
  base::ThreadPool pool(threads > 0 ? threads : base::ThreadPool::available_cores());
  const nn::LoadOptions options{.threads = &pool, .packed = packed};
  check_running_memory(files, path, nn::loaded_bytes(model->parameters(), state, options), plan);
  model->load_state(state, where, options);
  return model;
}

Prospect prospect_of(base::FileSystem& files, const std::string& place, const Registry& registry) {
  const ModelSource source = open_source(files, place, registry, nullptr);
  nn::StoredState state = named_state(*source.architecture, source.tensors, source.path);
  if (source.is_gguf) undo_gguf_changes(source.config, state);
  const std::unique_ptr<Model> model =
      source.architecture->read(source.config, source.path, source.tensors).make();
  let_copies_stand_in(*model, state);
  model->check_state(state, source.path);
  return {model->capabilities(), nn::loaded_bytes(model->parameters(), state, {.packed = true})};
}

uint64_t held_bytes(const Model& model) {
  uint64_t bytes = 0;
  for (const nn::ParameterHandle& one : model.parameters()) bytes += one->held_bytes();
  return bytes;
}

namespace {

// Single ids are banned; words of several are not.
void check_banned_ids(const ConfigReader& reader, const std::string& way_out) {
  const io::Json* words = reader.find("bad_words_ids");
  if (words != nullptr) {
    const auto is_single = [](const io::Json& word) {
      return word.array() != nullptr && word.array()->size() == 1 &&
             word.array()->front().integer();
    };
    if (words->array() == nullptr || !std::ranges::all_of(*words->array(), is_single)) {
      reader.refuse_if_set("bad_words_ids", "has words of several ids, " + way_out);
    }
  }
  const io::Json* ids = reader.find("suppress_tokens");
  if (ids != nullptr && ids->array() == nullptr) reader.refuse_if_set("suppress_tokens", way_out);
}

constexpr const char* kNotFollowed = "which is not followed here; remove it to generate without";

std::string generation_path(base::FileSystem& files, const std::string& folder) {
  const std::string path = folder + "/" + kGenerationFile;
  return base::exists(files, path) ? path : folder + "/" + kConfigFile;
}

}  // namespace

// renormalize_logits, which OPUS-MT's folders set, is always followed: ids are banned before
// probabilities are made.
GenerationSettings read_generation_settings(base::FileSystem& files, const std::string& folder) {
  constexpr std::string_view kTokens[] = {"begin_suppress_tokens",
                                          "forced_bos_token_id",
                                          "forced_decoder_ids",
                                          "force_words_ids",
                                          "sequence_bias",
                                          "constraints",
                                          "exponential_decay_length_penalty",
                                          "stop_strings",
                                          "watermarking_config",
                                          "dola_layers",
                                          "remove_invalid_values",
                                          "token_healing",
                                          "penalty_alpha"};
  constexpr std::string_view kCounts[] = {"no_repeat_ngram_size", "encoder_no_repeat_ngram_size",
                                          "min_length", "min_new_tokens"};
  constexpr std::string_view kFactors[] = {"encoder_repetition_penalty", "guidance_scale"};
  const std::string path = generation_path(files, folder);
  if (!base::exists(files, path)) return {};
  const io::Json settings = io::read_json(files, path);
  const ConfigReader reader(settings, path);
  const std::string way_out = kNotFollowed;
  for (const std::string_view key : kTokens) reader.refuse_if_set(key, way_out);
  for (const std::string_view key : kCounts) {
    if (reader.integer(key, 0, INT64_MAX, 0) != 0) reader.refuse_if_set(key, way_out);
  }
  for (const std::string_view key : kFactors) {
    if (reader.positive(key, 1) != 1) reader.refuse_if_set(key, way_out);
  }
  check_banned_ids(reader, way_out);
  // A text ends at its limit all the same.
  const io::Json* end = reader.find("eos_token_id");
  const io::Json* forced = reader.find("forced_eos_token_id");
  if (end == nullptr || forced == nullptr || *end != *forced) {
    reader.refuse_if_set("forced_eos_token_id", way_out);
  }
  return {.repetition_penalty = static_cast<float>(reader.positive("repetition_penalty", 1))};
}

void check_generation_settings(base::FileSystem& files, const std::string& folder) {
  if (read_generation_settings(files, folder).repetition_penalty == 1) return;
  const std::string path = generation_path(files, folder);
  const io::Json settings = io::read_json(files, path);
  ConfigReader(settings, path).refuse_if_set("repetition_penalty", kNotFollowed);
}

void write_state(base::FileSystem& files, const std::string& path, const Model& model,
                 tensor::DType kind) {
  std::vector<io::NamedTensor> tensors;
  for (const auto& [name, tensor] : model.state()) {
    const Tensor narrow = kind == tensor::DType::f32 || tensor.dtype() != tensor::DType::f32
                              ? Tensor()
                              : io::narrowed(tensor, kind);
    tensors.push_back({name, narrow.defined() ? narrow : tensor});
  }
  io::write_safetensors(files, path, tensors, {{"format", "pt"}});
}

tensor::DType stored_kind(base::FileSystem& files, const std::string& place) {
  const io::StoredTensors tensors = io::open_tensors(files, find_model_files(files, place).weights);
  std::map<tensor::DType, int64_t> numbers;
  for (const io::StoredTensors::Entry& entry : tensors.entries()) {
    const tensor::DType dtype = dtype_of(entry.array.element);
    if (nn::is_weight_type(dtype)) numbers[dtype] += entry.array.shape.elements();
  }
  const auto most =
      std::ranges::max_element(numbers, {}, [](const auto& one) { return one.second; });
  return most == numbers.end() ? tensor::DType::f32 : most->first;
}

void save_model(base::FileSystem& files, const std::string& folder, const Model& model,
                tensor::DType kind) {
  write_state(files, folder + "/" + kTensorFile, model, kind);
  base::write_file(files, folder + "/" + kConfigFile, io::json_text(model.config()) + "\n");
}

}  // namespace headlight::models
