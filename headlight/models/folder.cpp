// Model folders: the configuration decides the architecture, the tensors' names decide the rest.
#include "headlight/models/folder.h"

#include "headlight/models/config_reader.h"

namespace headlight::models {
namespace {

using base::Error;
using base::ErrorKind;

constexpr const char* kConfigFile = "config.json";
constexpr const char* kTensorFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

// Running takes the weights twice: as they are and packed for the kernels.
void check_running_memory(base::FileSystem& files, const std::string& path, const ModelPlan& plan) {
  const auto numbers = static_cast<double>(2 * plan.parameters + plan.tables);
  base::check_memory(files, sizeof(float) * numbers, "model", path);
}

const Architecture& architecture_of(const io::Json& config, const std::string& path,
                                    const Registry& registry) {
  return *registry.find(ConfigReader(config, path).choice("model_type", registry.types()));
}

io::Safetensors open_tensors(base::FileSystem& files, const std::string& folder) {
  const std::string index = folder + "/" + kIndexFile;
  const std::string whole = folder + "/" + kTensorFile;
  const bool sharded = base::exists(files, index) && !base::exists(files, whole);
  return io::open_safetensors(files, sharded ? index : whole);
}

nn::StateDict under_modern_names(const Architecture& architecture, nn::StateDict stored) {
  if (architecture.modern_name == nullptr) return stored;
  nn::StateDict state;
  for (const auto& [name, tensor] : stored) state[architecture.modern_name(name)] = tensor;
  return state;
}

}  // namespace

nn::StateDict read_state(const io::Safetensors& tensors) {
  nn::StateDict state;
  for (const io::Safetensors::Entry& entry : tensors.entries()) {
    state[entry.name] = tensors.load(entry);
  }
  return state;
}

std::unique_ptr<Model> load_model(base::FileSystem& files, const std::string& folder,
                                  const Registry& registry) {
  base::FileStatus status;
  if (files.path_status(folder, status) < 0)
    throw Error(ErrorKind::bad_input, "model", folder, "there is no such folder");
  if (status.kind != base::FileStatus::Kind::directory) {
    throw Error(ErrorKind::bad_input, "model", folder,
                "is not a folder; a model is a folder with a config.json and its weights");
  }
  const std::string path = folder + "/" + kConfigFile;
  const io::Json config = io::read_json(files, path);
  const io::Safetensors tensors = open_tensors(files, folder);
  const Architecture& architecture = architecture_of(config, path, registry);
  const ModelPlan plan = architecture.read(config, path, tensors);
  check_running_memory(files, path, plan);
  std::unique_ptr<Model> model = plan.make();
  const std::string where =
      tensors.entries().empty() ? path : tensors.path_of(tensors.entries().front());
  model->load_state(under_modern_names(architecture, read_state(tensors)), where);
  return model;
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
