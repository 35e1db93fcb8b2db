// GGUF files, versions 2 and 3: settings by key, and tensors, of which some are quantised.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "headlight/io/json.h"
#include "headlight/io/stored_tensors.h"

namespace headlight::io {

// An open GGUF file. Opening reads and checks the settings and the tensors' descriptions; numbers
// are read, and dequantised to float32, when a tensor is loaded. Shapes are as PyTorch has them:
// the axis that lies together in memory, which the file names first, comes last.
class Gguf : public StoredTensors {
 public:
  using Settings = std::map<std::string, Json, std::less<>>;

  explicit Gguf(std::shared_ptr<const base::Input> input);
  // Several files as one, with the settings of the first; a tensor in two of them is an Error.
  explicit Gguf(std::vector<Gguf> parts);

  int version() const { return version_; }
  // "general.architecture" and the like. Numbers are integers or doubles, arrays may be nested.
  const Settings& settings() const { return settings_; }
  const Json* setting(std::string_view key) const;  // nullptr when there is none

 private:
  struct File;
  explicit Gguf(File file);

  int version_ = 0;
  Settings settings_;
};

// A file, or all parts of a model that was split (gguf-split), of which `path` is the first. Throws
// Error(bad_input) as the constructor does, and where parts are missing or are not what they should
// be.
Gguf open_gguf(base::FileSystem& files, const std::string& path);

// Whether the ending is GGUF's.
bool is_gguf_path(std::string_view path);
// The same of something that is no folder.
bool is_gguf_file(base::FileSystem& files, const std::string& path);

}  // namespace headlight::io
