// What PyTorch's checkpoints name in their pickles: storages and tensors. For io's own use.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headlight/io/elements.h"
#include "headlight/io/pickle.h"

namespace headlight::io {

// Numbers that lie in one piece outside of the pickle, under a key.
struct TorchStorage {
  std::string key;
  std::optional<Element> element;  // nothing: bytes of any kind
  int64_t elements = 0;            // bytes where there is no kind

  uint64_t bytes() const {
    return static_cast<uint64_t>(elements) * (element ? size_of(*element) : 1);
  }
};

// A tensor over a part of a storage, which it has been compared with; its offset counts from the
// storage's first byte.
struct TorchTensor {
  size_t storage = 0;
  StoredArray array;
};

// Knows the storages of plain numbers, tensors over them, parameters and ordered dictionaries, and
// refuses everything else by name.
class TorchObjects : public PickleObjects {
 public:
  // `format` and `path` are for errors and outlive it.
  TorchObjects(std::string_view format, const std::string& path) : format_(format), path_(path) {}

  PickleValue global(const std::string& module, const std::string& name) override;
  PickleValue call(const PickleValue& function, const PickleValue& arguments,
                   const Pickle& pickle) override;
  PickleValue persistent(const PickleValue& id, const Pickle& pickle) override;

  const std::vector<TorchStorage>& storages() const { return storages_; }
  const TorchStorage* find_storage(const std::string& key) const;  // nullptr when there is none
  const TorchTensor* tensor_of(const PickleValue& value) const;    // nullptr when it is none

 private:
  [[noreturn]] void refuse_object(const std::string& why) const;
  PickleValue ordered_dictionary(const PickleValue& arguments, const Pickle& pickle) const;
  PickleValue rebuilt_tensor(const PickleValue& arguments, const Pickle& pickle, bool has_dtype);
  std::vector<int64_t> counts_of(const PickleValue& tuple, const Pickle& pickle,
                                 const char* what) const;
  StoredArray array_in(const TorchStorage& storage, Element element, int64_t offset,
                       const std::vector<int64_t>& sizes, std::vector<int64_t> strides) const;
  PickleValue parameter(const PickleValue& arguments, const Pickle& pickle) const;

  std::string_view format_;
  const std::string& path_;
  std::vector<TorchStorage> storages_;
  std::map<std::string, size_t> storage_by_key_;
  std::vector<TorchTensor> tensors_;
};

}  // namespace headlight::io
