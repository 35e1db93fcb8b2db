// Folders as people have them: other formats of weights, adapters, the folder above the model.
#include "headlight/models/folder_files.h"

#include <algorithm>
#include <array>
#include <vector>

namespace headlight::models {
namespace {

using base::FileStatus;

constexpr const char* kAdapterConfig = "adapter_config.json";
// In the order in which they are looked for.
constexpr std::array<const char*, 4> kWeightFiles = {kTensorFile, "model.safetensors.index.json",
                                                     "pytorch_model.bin",
                                                     "pytorch_model.bin.index.json"};
// What training leaves beside a model: pickles of other things.
constexpr std::array<const char*, 6> kTrainingFiles = {"training_args.bin", "optimizer.bin",
                                                       "optimizer.pt",      "scheduler.bin",
                                                       "scheduler.pt",      "rng_state.pth"};

[[noreturn]] void refuse_folder(const std::string& folder, const std::string& why) {
  base::refuse("model", folder, why);
}

bool is_file(base::FileSystem& files, const std::string& path) {
  FileStatus status;
  return files.path_status(path, status) >= 0 && status.kind != FileStatus::Kind::directory;
}

bool is_folder(base::FileSystem& files, const std::string& path) {
  FileStatus status;
  return files.path_status(path, status) >= 0 && status.kind == FileStatus::Kind::directory;
}

// The first name with this beginning and ending; empty when there is none. Files of a training do
// not count.
std::string name_like(const std::vector<std::string>& names, std::string_view beginning,
                      std::string_view ending) {
  const auto found = std::ranges::find_if(names, [&](const std::string& name) {
    return name.size() >= beginning.size() + ending.size() && name.starts_with(beginning) &&
           name.ends_with(ending) &&
           std::ranges::find(kTrainingFiles, name) == kTrainingFiles.end();
  });
  return found == names.end() ? "" : *found;
}

// What else the weights are in; empty when nothing is recognised.
std::string other_weights(const std::string& folder, const std::vector<std::string>& names) {
  if (const std::string gguf = name_like(names, "", ".gguf"); !gguf.empty()) {
    return "its weights are in " + gguf + "; name that file, " + folder + "/" + gguf;
  }
  if (const std::string meta = name_like(names, "consolidated.", ".pth"); !meta.empty()) {
    return "its weights are in " + meta +
           ", which is Meta's own format; take the same model as a Hugging Face "
           "folder, with config.json and model.safetensors";
  }
  for (const char* other : {"tf_model.h5", "flax_model.msgpack", "model.ckpt.index"}) {
    if (std::ranges::find(names, other) == names.end()) continue;
    return std::string("its weights are only in ") + other +
           ", which is not read; convert them once with transformers 4: python3 -c \"from "
           "transformers import AutoModelForPreTraining as M; M.from_pretrained('" +
           folder + "', from_" + (other[0] == 'f' ? "flax" : "tf") + "=True).save_pretrained('" +
           folder + "')\"";
  }
  if (const std::string onnx = name_like(names, "", ".onnx"); !onnx.empty()) {
    return "its weights are in " + onnx +
           ", an ONNX graph, which is not read; take the folder with model.safetensors that it was "
           "exported from";
  }
  for (const char* ending : {".bin", ".pt", ".pth"}) {
    const std::string checkpoint = name_like(names, "", ending);
    if (checkpoint.empty()) continue;
    return "its weights are in " + checkpoint + "; name that file, " + folder + "/" + checkpoint +
           ", or call it " + kWeightFiles[2];
  }
  if (const std::string checkpoint = name_like(names, "", ".ckpt"); !checkpoint.empty()) {
    return "its weights are in " + checkpoint + "; if PyTorch wrote it, call it " + kWeightFiles[2];
  }
  const std::string renamed = name_like(names, "", ".safetensors");
  if (!renamed.empty() && renamed != kTensorFile)
    return "its weights are in " + renamed + "; call them " + kTensorFile;
  return "";
}

// The base model that an adapter changes, as far as its configuration says.
std::string adapter_text(base::FileSystem& files, const std::string& folder) {
  const io::Json config = io::read_json(files, folder + "/" + kAdapterConfig);
  const io::Json* base = config.find("base_model_name_or_path");
  return "an adapter" +
         (base && base->text() ? " of " + io::in_quotes(*base->text()) : std::string());
}

constexpr const char* kMergeAdapter =
    "merge it into its model once: python3 -c \"from peft import AutoPeftModelForCausalLM as M; "
    "M.from_pretrained('";

// A folder of folders: the cache of Hugging Face's tools, or the one above the model.
std::string model_below(base::FileSystem& files, const std::string& folder,
                        const std::vector<std::string>& names, int levels) {
  for (const std::string& name : names) {
    const std::string below = folder + "/" + name;
    if (!is_folder(files, below)) continue;
    if (is_file(files, below + "/" + kConfigFile)) return below;
    if (levels <= 1) continue;
    const std::string deeper =
        model_below(files, below, base::list_directory(files, below), levels - 1);
    if (!deeper.empty()) return deeper;
  }
  return "";
}

[[noreturn]] void refuse_without_config(base::FileSystem& files, const std::string& folder,
                                        const std::vector<std::string>& names) {
  if (is_file(files, folder + "/" + kAdapterConfig)) {
    refuse_folder(folder, "holds " + adapter_text(files, folder) + ", not a whole model; " +
                              kMergeAdapter + folder + "').merge_and_unload().save_pretrained('" +
                              folder + "-merged')\"");
  }
  std::string why = "is no model folder: it has no config.json";
  const std::string below = model_below(files, folder, names, 2);
  const std::string other = other_weights(folder, names);
  if (!below.empty()) {
    why += "; " + below + " has one";
  } else if (!other.empty()) {
    why += ", and " + other;
  } else if (names.empty()) {
    why += ", it is empty";
  } else {
    why += "; a model is a folder with a config.json and a model.safetensors or pytorch_model.bin";
  }
  refuse_folder(folder, why);
}

[[noreturn]] void refuse_file(base::FileSystem& files, const std::string& path) {
  const std::string folder = base::directory_of(path);
  const bool is_part = path.ends_with(".json") || path.ends_with(".safetensors");
  if (is_part && is_file(files, folder + "/" + kConfigFile)) {
    refuse_folder(path, "is one file of a model; name its folder, " + folder);
  }
  const std::string other = other_weights(folder, {path.substr(path.rfind('/') + 1)});
  refuse_folder(path,
                "is not a folder; a model is a folder with a config.json and its weights in "
                "model.safetensors or pytorch_model.bin, a .gguf file, or a .bin or .pt file with "
                "a config.json beside it" +
                    (other.empty() ? "" : "; " + other));
}

void check_adapter(base::FileSystem& files, const std::string& folder) {
  if (!base::exists(files, folder + "/" + kAdapterConfig)) return;
  refuse_folder(folder, "holds " + adapter_text(files, folder) +
                            " beside the model, which is not applied; " + kMergeAdapter + folder +
                            "').merge_and_unload().save_pretrained('" + folder +
                            "-merged')\", or remove " + kAdapterConfig);
}

// A checkpoint by its own name.
ModelFiles files_of_checkpoint(base::FileSystem& files, const std::string& path) {
  const std::string folder = base::directory_of(path);
  if (!base::exists(files, folder + "/" + kConfigFile)) {
    refuse_folder(path, std::string("has no ") + kConfigFile +
                            " beside it, which says what model its tensors are");
  }
  check_adapter(files, folder);
  return {folder, path};
}

}  // namespace

ModelFiles find_model_files(base::FileSystem& files, const std::string& place) {
  if (!base::exists(files, place)) refuse_folder(place, "there is no such file or folder");
  if (!is_folder(files, place)) {
    if (io::is_gguf_path(place)) return {place, place};
    if (!io::is_checkpoint_path(place)) refuse_file(files, place);
    return files_of_checkpoint(files, place);
  }
  if (!base::exists(files, place + "/" + kConfigFile)) {
    refuse_without_config(files, place, base::list_directory(files, place));
  }
  const auto weights = std::ranges::find_if(
      kWeightFiles, [&](const char* name) { return base::exists(files, place + "/" + name); });
  if (weights == kWeightFiles.end()) {
    const std::string other = other_weights(place, base::list_directory(files, place));
    refuse_folder(place, other.empty() ? std::string("has a config.json and no weights: ") +
                                             kTensorFile + " is missing"
                                       : other);
  }
  check_adapter(files, place);
  return {place, place + "/" + *weights};
}

}  // namespace headlight::models
