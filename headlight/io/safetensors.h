// safetensors files and sharded ones: reading tensors by name, writing them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/io/elements.h"
#include "headlight/tensor/tensor.h"

namespace headlight::io {

using Metadata = std::map<std::string, std::string>;

struct NamedTensor {
  std::string name;
  tensor::Tensor tensor;
};

// An open safetensors file, or several as one. Opening reads and checks the headers; a tensor's
// numbers are read when it is loaded.
class Safetensors {
 public:
  struct Entry {
    std::string name;
    StoredArray array;
    size_t file = 0;  // which of the files holds it
  };

  explicit Safetensors(std::shared_ptr<const base::Input> input);
  // Several files as one; a name in two of them is an Error.
  explicit Safetensors(std::vector<Safetensors> shards);

  const Metadata& metadata() const { return metadata_; }          // of the first file
  const std::vector<Entry>& entries() const { return entries_; }  // sorted by name
  const Entry* find(std::string_view name) const;                 // nullptr when there is none
  const std::string& path_of(const Entry& entry) const { return inputs_[entry.file]->name(); }
  std::string names_text() const;  // "3 tensors: "a", "b", "c"", the first five; for messages

  // Float64 is rounded to float32, integers become int64, float16 and bfloat16 stay as storage.
  tensor::Tensor load(const Entry& entry) const;
  tensor::Tensor load(std::string_view name) const;  // an Error when there is none
  // Whether two tensors have one shape and, as float32, the same bits. Both are read in pieces.
  bool same_numbers(const Entry& a, const Entry& b) const;

 private:
  std::vector<std::shared_ptr<const base::Input>> inputs_;
  Metadata metadata_;
  std::vector<Entry> entries_;
};

// `path` is a .safetensors file, or an index (….index.json) whose shards lie beside it.
Safetensors open_safetensors(base::FileSystem& files, const std::string& path);

// Wider elements first and names in order within a width: so each tensor is aligned to its
// elements, and the same tensors give the same bytes. `name` is for errors.
void write_safetensors(base::Output& output, const std::string& name,
                       const std::vector<NamedTensor>& tensors, const Metadata& metadata = {});
void write_safetensors(base::FileSystem& files, const std::string& path,
                       const std::vector<NamedTensor>& tensors, const Metadata& metadata = {});

}  // namespace headlight::io
