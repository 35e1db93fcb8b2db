// The operating system's lock on the folder itself: gone with the process, and no file is left.
#include "headlight/recipes/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "headlight/base/base.h"

namespace headlight::recipes {

RunLock::RunLock(std::string folder, std::string source)
    : path_(std::move(folder)), source_(std::move(source)) {
  take();
}

void RunLock::take() {
  if (folder_ >= 0) return;
  folder_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0 || flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  close(folder_);
  folder_ = -1;
  throw base::Error(base::ErrorKind::failed, source_, path_,
                    "another process is training there; wait for it, or give another name");
}

RunLock::~RunLock() {
  if (folder_ >= 0) close(folder_);
}

}  // namespace headlight::recipes
