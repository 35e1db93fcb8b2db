// A model's tensors as PyTorch's checkpoint.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headlight/nn/nn.h"
#include "tests/io/checkpoint_bytes.h"

namespace headlight::models {

// A state dict as torch.save() writes it, each tensor a storage of its own; of matrices every
// second one is stored transposed. With a key, the dictionary is under it, beside a number.
inline std::string state_bytes(const nn::StateDict& state, const std::string& key = "") {
  namespace pickled = io::pickled;
  std::vector<std::pair<std::string, std::string>> members;
  std::vector<io::Record> storages;
  for (const auto& [name, tensor] : state) {
    const bool transposed = tensor.shape().rank() == 2 && storages.size() % 2 == 1;
    const tensor::Tensor stored =
        transposed ? tensor.permuted({1, 0}).contiguous() : tensor.contiguous();
    const std::string number = std::to_string(storages.size());
    std::vector<int64_t> sizes(tensor.shape().sizes().begin(), tensor.shape().sizes().end());
    std::vector<int64_t> strides(sizes.size(), 1);
    for (size_t i = sizes.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * sizes[i - 1];
    if (transposed) strides = {1, sizes[0]};
    const pickled::Storage storage{.key = pickled::text(number),
                                   .elements = pickled::integer(tensor.elements())};
    const pickled::TensorParts parts{.storage = storage.bytes(),
                                     .sizes = pickled::integers(sizes),
                                     .strides = pickled::integers(strides)};
    members.emplace_back(name, parts.bytes());
    storages.push_back(
        {"archive/data/" + number, {reinterpret_cast<const char*>(stored.raw()), stored.bytes()}});
  }
  std::string value = pickled::dictionary(members);
  if (!key.empty()) value = pickled::dictionary({{key, value}, {"iter_num", "K\x07"}});
  std::vector<io::Record> records = {{"archive/data.pkl", pickled::whole(value)},
                                     {"archive/version", "3\n"}};
  records.insert(records.end(), storages.begin(), storages.end());
  return io::archive_bytes({.records = records});
}

}  // namespace headlight::models
