// The operating system's file calls behind the seam.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "headlight/base/file.h"

namespace headlight::base {
namespace {

template <class Result>
Result or_errno(Result result) {
  return result < 0 ? static_cast<Result>(-errno) : result;
}

// The system would silently stop at a NUL and take another file.
bool is_cut_short(const std::string& path) { return path.find('\0') != std::string::npos; }

FileStatus::Kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileStatus::Kind::regular;
  if (S_ISDIR(mode)) return FileStatus::Kind::directory;
  if (S_ISFIFO(mode)) return FileStatus::Kind::pipe;
  if (S_ISCHR(mode) || S_ISBLK(mode)) return FileStatus::Kind::device;
  return FileStatus::Kind::other;
}

FileStatus status_of(const struct stat& facts) {
  return {kind_of(facts.st_mode), static_cast<uint64_t>(facts.st_size), facts.st_mode & 0777u};
}

}  // namespace

int FileSystem::open(const std::string& path, int flags, unsigned permissions) {
  if (is_cut_short(path)) return -EINVAL;
  return or_errno(::open(path.c_str(), flags, static_cast<mode_t>(permissions)));
}

int FileSystem::close(int file) { return or_errno(::close(file)); }

int64_t FileSystem::read(int file, uint64_t offset, std::span<std::byte> into) {
  return or_errno<int64_t>(::pread(file, into.data(), into.size(), static_cast<off_t>(offset)));
}

int64_t FileSystem::write(int file, std::span<const std::byte> bytes) {
  return or_errno<int64_t>(::write(file, bytes.data(), bytes.size()));
}

int FileSystem::sync(int file) { return or_errno(::fsync(file)); }

int FileSystem::status(int file, FileStatus& status) {
  struct stat facts;
  const int result = or_errno(::fstat(file, &facts));
  if (result == 0) status = status_of(facts);
  return result;
}

int FileSystem::path_status(const std::string& path, FileStatus& status) {
  if (is_cut_short(path)) return -EINVAL;
  struct stat facts;
  const int result = or_errno(::stat(path.c_str(), &facts));
  if (result == 0) status = status_of(facts);
  return result;
}

int FileSystem::read_link(const std::string& path, std::string& target) {
  if (is_cut_short(path)) return -EINVAL;
  std::string buffer(4096, '\0');
  const auto length = or_errno(::readlink(path.c_str(), buffer.data(), buffer.size()));
  if (length < 0) return static_cast<int>(length);
  if (static_cast<size_t>(length) == buffer.size()) return -ENAMETOOLONG;
  target.assign(buffer, 0, static_cast<size_t>(length));
  return 0;
}

int FileSystem::rename(const std::string& from, const std::string& to) {
  if (is_cut_short(from) || is_cut_short(to)) return -EINVAL;
  return or_errno(::rename(from.c_str(), to.c_str()));
}

int FileSystem::remove(const std::string& path) {
  if (is_cut_short(path)) return -EINVAL;
  return or_errno(std::remove(path.c_str()));
}

int FileSystem::make_directory(const std::string& path) {
  if (is_cut_short(path)) return -EINVAL;
  return or_errno(::mkdir(path.c_str(), 0777));
}

int FileSystem::list(const std::string& path, std::vector<std::string>& names) {
  if (is_cut_short(path)) return -EINVAL;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return -errno;
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  return -errno;
}

FileSystem& real_files() {
  static FileSystem files;
  return files;
}

}  // namespace headlight::base
