// Models that tools/fetch-models puts into a cache; tests that need them skip where they are not.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace headlight::tests {

// HEADLIGHT_MODELS, or else where tools/fetch-models puts them by itself.
inline std::string fetched_models() {
  if (const char* place = std::getenv("HEADLIGHT_MODELS"); place != nullptr && *place != '\0') {
    return place;
  }
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache != '\0') return std::string(cache) + "/headlight/models";
  return std::string(home != nullptr ? home : "") + "/.cache/headlight/models";
}

inline std::string fetched(const std::string& name) { return fetched_models() + "/" + name; }

#define SKIP_UNLESS_FETCHED(path)     \
  if (!std::filesystem::exists(path)) \
  GTEST_SKIP() << (path) << " is not there; tools/fetch-models fetches it"

}  // namespace headlight::tests
