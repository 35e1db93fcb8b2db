// Configuration files: lines `key = value`, the flat part of TOML.
#pragma once

#include <string>
#include <vector>

#include "headlight/base/base.h"

namespace headlight::recipes {

struct ConfigEntry {
  std::string key;    // `_` as `-`
  std::string value;  // as it would be typed: without quotes
  int64_t line = 0;
};

// Comments (#), empty lines, strings in double or single quotes, numbers, true and false. Throws
// Error(bad_input) with the line.
std::vector<ConfigEntry> read_config_file(base::FileSystem& files, const std::string& path);

}  // namespace headlight::recipes
