// One run at a time in a folder.
#pragma once

#include <string>

namespace headlight::cli {

// Holds a folder until it ends, however that happens. Throws Error(failed) when another process
// holds it; a folder that is not there is nobody's.
class RunLock {
 public:
  explicit RunLock(const std::string& folder);
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  ~RunLock();

 private:
  int folder_;
};

}  // namespace headlight::cli
