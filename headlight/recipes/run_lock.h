// One run at a time in a folder.
#pragma once

#include <string>
#include <string_view>

namespace headlight::recipes {

// Holds a folder until it ends, however that happens. Throws Error(failed) when another process
// holds it; a folder that is not there is nobody's.
class RunLock {
 public:
  // `source` names the folder in errors.
  RunLock(const std::string& folder, std::string_view source);
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  ~RunLock();

 private:
  int folder_;
};

}  // namespace headlight::recipes
