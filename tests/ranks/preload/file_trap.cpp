// file_trap: preloaded into a rank, it stops the rank before one of its file operations, so that a
// test can kill any rank at that moment. The environment says where:
//   TEST_TRAP_FOLDER  operations on files in it count
//   TEST_TRAP_FROM    from the first on whose path holds this
//   TEST_TRAP_AT      stops before the one with this number, from 0 on
//   TEST_TRAP_NOTE    the file that is then made and holds the operation; it goes on without it
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace {

std::atomic<int> count = -1;  // -1: not yet

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
using OpenFile = int (*)(const char*, int, ...);
using Write = ssize_t (*)(int, const void*, size_t);
using OfFile = int (*)(int);
using OfPath = int (*)(const char*);
using OfTwoPaths = int (*)(const char*, const char*);
using MakeFolder = int (*)(const char*, mode_t);

void wait_at(const std::string& operation) {
  const std::string note = variable("TEST_TRAP_NOTE");
  const std::string made = note + ".new";
  const int file = next<OpenFile>("open")(made.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  next<Write>("write")(file, operation.data(), operation.size());
  close(file);
  next<OfTwoPaths>("rename")(made.c_str(), note.c_str());
  while (access(note.c_str(), F_OK) == 0) {
    const timespec pause = {0, 2'000'000};
    nanosleep(&pause, nullptr);
  }
}

void at(const char* what, const std::string& path) {
  const std::string folder = variable("TEST_TRAP_FOLDER");
  if (folder.empty() || path.compare(0, folder.size(), folder) != 0) return;
  if (count < 0 && path.find(variable("TEST_TRAP_FROM")) == std::string::npos) return;
  if (++count == std::atoi(variable("TEST_TRAP_AT").c_str())) {
    wait_at(std::string(what) + " " + path.substr(folder.size()));
  }
}

std::string path_of(int file) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = readlink(link.c_str(), path, sizeof(path));
  return length <= 0 ? "" : std::string(path, static_cast<size_t>(length));
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  at("open", path);
  return next<OpenFile>("open")(path, flags, mode);
}

ssize_t write(int file, const void* bytes, size_t size) {
  at("write", path_of(file));
  return next<Write>("write")(file, bytes, size);
}

int fsync(int file) {
  at("sync", path_of(file));
  return next<OfFile>("fsync")(file);
}

int rename(const char* from, const char* to) noexcept {
  at("rename", to);
  return next<OfTwoPaths>("rename")(from, to);
}

int remove(const char* path) noexcept {
  at("remove", path);
  return next<OfPath>("remove")(path);
}

int mkdir(const char* path, mode_t mode) noexcept {
  at("make", path);
  return next<MakeFolder>("mkdir")(path, mode);
}

}  // extern "C"
