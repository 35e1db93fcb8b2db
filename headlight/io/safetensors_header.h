// The JSON header of a safetensors file. For io's own use.
#pragma once

#include "headlight/io/safetensors.h"

namespace headlight::io {

inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes
inline constexpr size_t kMaxSafetensorsEntries = 1'000'000;
inline constexpr const char* kMetadataName = "__metadata__";

struct SafetensorsHeader {
  Metadata metadata;
  // In the header's order; offsets count from its end.
  std::vector<Safetensors::Entry> entries;
};

// Checks each entry for itself: fields, dtype, shape, and that its range has the bytes they need.
// More than `limit` tensors, or entries of metadata, are refused. `path` is for errors.
SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& path,
                                           size_t limit = kMaxSafetensorsEntries);

}  // namespace headlight::io
