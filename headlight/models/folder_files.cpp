// Folders as people have them: other formats of weights, adapters, the folder above the model.
#include "headlight/models/folder_files.h"

#include <algorithm>
#include <vector>

namespace headlight::models {
namespace {

using base::FileStatus;

constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr const char* kAdapterConfig = "adapter_config.json";
constexpr const char* kPickle = "pytorch_model.bin";

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

// The first name with this beginning and ending; empty when there is none.
std::string name_like(const std::vector<std::string>& names, std::string_view beginning,
                      std::string_view ending) {
  const auto found = std::ranges::find_if(names, [&](const std::string& name) {
    return name.size() >= beginning.size() + ending.size() && name.starts_with(beginning) &&
           name.ends_with(ending);
  });
  return found == names.end() ? "" : *found;
}

// Tied tensors share memory in a pickle, which safetensors does not hold: hence the copies.
std::string pickle_way_out(const std::string& folder, const std::string& pickle) {
  return "its weights are only in " + pickle +
         ", a Python pickle, which can run code and is not read; convert them once: python3 -c "
         "\"import torch, safetensors.torch as s; s.save_file({k: v.clone().contiguous() for k, v "
         "in torch.load('" +
         folder + "/" + pickle + "', weights_only=True).items()}, '" + folder + "/" + kTensorFile +
         "')\"";
}

std::string transformers_way_out(const std::string& folder) {
  return "convert them once: python3 -c \"from transformers import AutoModelForPreTraining as M; "
         "M.from_pretrained('" +
         folder + "').save_pretrained('" + folder + "')\"";
}

// What else the weights are in; empty when nothing is recognised.
std::string other_weights(const std::string& folder, const std::vector<std::string>& names) {
  if (std::ranges::find(names, kPickle) != names.end()) return pickle_way_out(folder, kPickle);
  if (!name_like(names, kPickle, ".index.json").empty()) {
    return "its weights are only in shards of pytorch_model.bin, Python pickles, which can run "
           "code "
           "and are not read; " +
           transformers_way_out(folder);
  }
  if (const std::string gguf = name_like(names, "", ".gguf"); !gguf.empty()) {
    return "its weights are in " + gguf +
           ", a GGUF file, which is not read; take the folder with config.json and "
           "model.safetensors that it was made from";
  }
  if (const std::string meta = name_like(names, "consolidated.", ".pth"); !meta.empty()) {
    return "its weights are in " + meta +
           ", which is Meta's own format and a pickle; take the same model as a Hugging Face "
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
  for (const char* ending : {".bin", ".pt", ".pth", ".ckpt"}) {
    const std::string pickle = name_like(names, "", ending);
    if (!pickle.empty()) return pickle_way_out(folder, pickle);
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
    why += "; a model is a folder with a config.json and a model.safetensors";
  }
  refuse_folder(folder, why);
}

[[noreturn]] void refuse_file(const std::string& path) {
  const std::string other =
      other_weights(base::directory_of(path), {path.substr(path.rfind('/') + 1)});
  refuse_folder(path,
                "is not a folder; a model is a folder with a config.json and its weights in "
                "model.safetensors" +
                    (other.empty() ? "" : "; " + other));
}

}  // namespace

void check_model_folder(base::FileSystem& files, const std::string& folder) {
  if (!base::exists(files, folder)) refuse_folder(folder, "there is no such folder");
  if (!is_folder(files, folder)) refuse_file(folder);
  const auto has = [&](const char* name) { return base::exists(files, folder + "/" + name); };
  if (!has(kConfigFile)) {
    refuse_without_config(files, folder, base::list_directory(files, folder));
  }
  if (!has(kTensorFile) && !has(kIndexFile)) {
    const std::string other = other_weights(folder, base::list_directory(files, folder));
    refuse_folder(folder, other.empty() ? std::string("has a config.json and no weights: ") +
                                              kTensorFile + " is missing"
                                        : other);
  }
  if (has(kAdapterConfig)) {
    refuse_folder(folder, "holds " + adapter_text(files, folder) +
                              " beside the model, which is not applied; " + kMergeAdapter + folder +
                              "').merge_and_unload().save_pretrained('" + folder +
                              "-merged')\", or remove " + kAdapterConfig);
  }
}

io::Safetensors open_weights(base::FileSystem& files, const std::string& folder) {
  const std::string index = folder + "/" + kIndexFile;
  const std::string whole = folder + "/" + kTensorFile;
  const bool sharded = base::exists(files, index) && !base::exists(files, whole);
  return io::open_safetensors(files, sharded ? index : whole);
}

}  // namespace headlight::models
