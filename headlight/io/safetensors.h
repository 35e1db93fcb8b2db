// safetensors files and sharded ones: reading tensors by name, writing them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/io/stored_tensors.h"
#include "headlight/tensor/tensor.h"

namespace headlight::io {

using Metadata = std::map<std::string, std::string>;

struct NamedTensor {
  std::string name;
  tensor::Tensor tensor;
};

// An open safetensors file, or several as one. Opening reads and checks the headers; a tensor's
// numbers are read when it is loaded.
class Safetensors : public StoredTensors {
 public:
  explicit Safetensors(std::shared_ptr<const base::Input> input);
  // Several files as one; a name in two of them is an Error.
  explicit Safetensors(std::vector<Safetensors> shards);

  const Metadata& metadata() const { return metadata_; }  // of the first file

 private:
  struct File;
  explicit Safetensors(File file);

  Metadata metadata_;
};

// `path` is a .safetensors file, or an index (….index.json) whose shards lie beside it.
Safetensors open_safetensors(base::FileSystem& files, const std::string& path);

// Wider elements first and names in order within a width: so each tensor is aligned to its
// elements, and the same tensors give the same bytes. `name` is for errors.
void write_safetensors(base::Output& output, const std::string& name,
                       const std::vector<NamedTensor>& tensors, const Metadata& metadata = {});
void write_safetensors(base::FileSystem& files, const std::string& path,
                       const std::vector<NamedTensor>& tensors, const Metadata& metadata = {});

// A tensor whose numbers are asked for when they are written.
struct PromisedTensor {
  std::string name;
  tensor::DType dtype = tensor::DType::f32;
  tensor::Shape shape;
  std::function<tensor::Tensor()> load;
};
// The same, one tensor after the other in the order of the file: never all are in memory.
void write_promised_safetensors(base::Output& output, const std::string& name,
                                const std::vector<PromisedTensor>& tensors,
                                const Metadata& metadata = {});
void write_promised_safetensors(base::FileSystem& files, const std::string& path,
                                const std::vector<PromisedTensor>& tensors,
                                const Metadata& metadata = {});

}  // namespace headlight::io
