// An open file's number, and what an errno means to the user. For base's own use.
#pragma once

#include <cerrno>
#include <string>
#include <utility>

#include "headlight/base/file.h"

namespace headlight::base {

// Reading: Error(bad_input), or Error(failed) when the process has too many open files. Writing:
// Error(failed). In both, no memory or no disk is Error(out_of_memory).
[[noreturn]] void throw_read_error(const std::string& path, int number);
[[noreturn]] void throw_write_error(const std::string& path, int number);

// Calls again while a signal interrupts: `call` gives a result or a negative errno.
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result == -EINTR) result = call();
  return result;
}

// Owns what FileSystem::open gave: a number, or a negative errno.
class Descriptor {
 public:
  Descriptor(FileSystem& files, const std::string& path, int flags, unsigned permissions = 0)
      : files_(files),
        number_(uninterrupted([&] { return files.open(path, flags, permissions); })) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int number() const { return number_; }
  // The number is gone whatever the result says.
  int close() { return number_ < 0 ? 0 : files_.close(std::exchange(number_, -EBADF)); }

 private:
  FileSystem& files_;
  int number_;
};

}  // namespace headlight::base
