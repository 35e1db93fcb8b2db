// Tensors that lie in files, by name: kinds and shapes are known, numbers are read when asked for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/io/elements.h"
#include "headlight/tensor/tensor.h"

namespace headlight::io {

// What safetensors, PyTorch's checkpoints and GGUF files hold, whichever of them it is in.
class StoredTensors {
 public:
  struct Entry {
    std::string name;
    StoredArray array;
    size_t file = 0;  // which of the files holds it
  };

  // Entries of one file, whose ranges the caller has compared with its size; `format`, e.g.
  // "safetensors", begins errors. A name twice is an Error.
  StoredTensors(std::string_view format, std::shared_ptr<const base::Input> input,
                std::vector<Entry> entries);
  // Several files as one; a name in two of them is an Error.
  explicit StoredTensors(std::vector<StoredTensors> parts);

  const std::vector<Entry>& entries() const { return entries_; }  // sorted by name
  const Entry* find(std::string_view name) const;                 // nullptr when there is none
  const std::string& path_of(const Entry& entry) const { return inputs_[entry.file]->name(); }
  const std::string& path() const { return inputs_.front()->name(); }  // of the first file
  std::string names_text() const;  // "3 tensors: "a", "b", "c"", the first five; for messages

  // Float64 is rounded to float32, integers become int64, float16 and bfloat16 stay as storage,
  // quantised blocks become float32.
  tensor::Tensor load(const Entry& entry) const;
  tensor::Tensor load(std::string_view name) const;  // an Error when there is none
  // Some rows, where io::has_rows() says so.
  void load_rows(const Entry& entry, int64_t begin, int64_t count, std::byte* to) const;
  // The same tensors under the names that `name_of` gives; one that it gives no name is left out. A
  // name twice is an Error.
  StoredTensors renamed(const std::function<std::string(const std::string&)>& name_of) const;
  // Whether two tensors have one shape and, as float32, the same bits. Both are read in pieces.
  bool same_numbers(const Entry& a, const Entry& b) const;

 private:
  void sort_entries();

  std::string format_;
  std::vector<std::shared_ptr<const base::Input>> inputs_;
  std::vector<Entry> entries_;
};

// `path` is a .safetensors file, a GGUF file, a PyTorch checkpoint (.bin, .pt, .pth), or an index
// (….index.json) whose shards of either kind lie beside it.
StoredTensors open_tensors(base::FileSystem& files, const std::string& path);

}  // namespace headlight::io
