// One run at a time in a folder.
#pragma once

#include <string>

namespace headlight::recipes {

// Holds a folder until it ends, however that happens.
class RunLock {
 public:
  // `source` names the folder in errors. Throws Error(failed) when another process holds it; a
  // folder that is not there is nobody's.
  RunLock(std::string folder, std::string source);
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  ~RunLock();

  // Takes the folder where it was not there before. Throws the same.
  void take();
  const std::string& source() const noexcept { return source_; }

 private:
  std::string path_;
  std::string source_;
  int folder_ = -1;
};

}  // namespace headlight::recipes
