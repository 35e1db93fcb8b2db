// GGUF files put together by hand, so that each byte of them can be wrong.
#pragma once

#include <string>
#include <vector>

#include "tests/io/checkpoint_bytes.h"

namespace headlight::io {

// Types of settings.
enum SettingNumber : uint32_t {
  kUint8 = 0,
  kUint32 = 4,
  kFloat32 = 6,
  kBool = 7,
  kText = 8,
  kArray = 9,
  kUint64 = 10
};

inline std::string gguf_string(const std::string& text) { return u64(text.size()) + text; }
inline std::string gguf_setting(const std::string& key, uint32_t type, const std::string& value) {
  return gguf_string(key) + u32(type) + value;
}
inline std::string gguf_array(uint32_t type, uint64_t count, const std::string& elements) {
  return u32(type) + u64(count) + elements;
}

struct GgufTensor {
  std::string name = gguf_string("x");
  std::vector<uint64_t> sizes = {3, 2};
  uint32_t type = 0;  // F32
  uint64_t offset = 0;
  int64_t rank = -1;  // said instead of the real one

  std::string bytes() const {
    std::string all = name + u32(rank < 0 ? sizes.size() : static_cast<uint64_t>(rank));
    for (const uint64_t size : sizes) all += u64(size);
    return all + u32(type) + u64(offset);
  }
};

struct GgufParts {
  std::string magic = "GGUF";
  uint32_t version = 3;
  std::vector<std::string> settings = {
      gguf_setting("general.architecture", kText, gguf_string("llama"))};
  std::vector<std::string> tensors = {GgufTensor{}.bytes()};
  int64_t tensor_count = -1;  // said instead of the real ones
  int64_t setting_count = -1;
  size_t alignment = 32;
  std::string data = six_floats();

  std::string bytes() const {
    std::string all =
        magic + u32(version) +
        u64(tensor_count < 0 ? tensors.size() : static_cast<uint64_t>(tensor_count)) +
        u64(setting_count < 0 ? settings.size() : static_cast<uint64_t>(setting_count));
    for (const std::string& setting : settings) all += setting;
    for (const std::string& tensor : tensors) all += tensor;
    all.resize((all.size() + alignment - 1) / alignment * alignment);
    return all + data;
  }
};

}  // namespace headlight::io
