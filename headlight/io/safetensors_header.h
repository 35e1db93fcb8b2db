// The JSON header of a safetensors file. For io's own use.
#pragma once

#include "headlight/io/safetensors.h"

namespace headlight::io {

inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes
inline constexpr size_t kMaxSafetensorsEntries = 1'000'000;
inline constexpr const char* kMetadataName = "__metadata__";

struct SafetensorsHeader {
  Metadata metadata;
  std::vector<Safetensors::Entry>
      entries;  // offsets count from the header's end; in the header's order
};

// Checks each entry for itself: fields, dtype, shape, and that its range has the bytes they need.
// `path` is for errors.
// More than `limit` tensors, or entries of metadata, are refused.
SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& path,
                                           size_t limit = kMaxSafetensorsEntries);

}  // namespace headlight::io
