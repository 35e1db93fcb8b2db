// Files whose n-th operation fails or does less than asked, and that remember what was done.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "headlight/base/file.h"

namespace headlight::test {

class FaultyFiles : public base::FileSystem {
 public:
  // Not errnos: a read or write of half the bytes; the end of the process instead of the operation.
  static constexpr int kShort = -1;
  static constexpr int kKilled = -2;

  // The operation with this number (from 0) fails with the errno, or is short, or the last.
  void fail(int operation, int number) {
    failing_ = operation;
    number_ = number;
  }
  int operations() const { return count_; }
  // "open temporary", "write temporary", "sync folder", … in their order.
  const std::vector<std::string>& log() const { return log_; }
  bool did(const std::string& entry) const {
    return std::find(log_.begin(), log_.end(), entry) != log_.end();
  }

  int open(const std::string& path, int flags, unsigned permissions) override {
    const int problem = step("open", path);
    const int file = problem ? problem : FileSystem::open(path, flags, permissions);
    if (file >= 0) names_[file] = path;
    return file;
  }
  // Like the system's, a close that fails closes all the same.
  int close(int file) override {
    const int problem = step("close", names_[file]);
    const int result = FileSystem::close(file);
    return problem ? problem : result;
  }
  int64_t read(int file, uint64_t offset, std::span<std::byte> into) override {
    const int problem = step("read", names_[file]);
    if (problem) return problem;
    return FileSystem::read(file, offset,
                            into.first(is_short() ? (into.size() + 1) / 2 : into.size()));
  }
  int64_t write(int file, std::span<const std::byte> bytes) override {
    const int problem = step("write", names_[file]);
    if (problem) return problem;
    return FileSystem::write(file, bytes.first(is_short() ? (bytes.size() + 1) / 2 : bytes.size()));
  }
  // The power stays on, so there is no need to wait for the disk.
  int sync(int file) override { return step("sync", names_[file]); }
  int status(int file, base::FileStatus& status) override {
    const int problem = step("status", names_[file]);
    return problem ? problem : FileSystem::status(file, status);
  }
  int path_status(const std::string& path, base::FileStatus& status) override {
    const int problem = step("path_status", path);
    return problem ? problem : FileSystem::path_status(path, status);
  }
  int read_link(const std::string& path, std::string& target) override {
    const int problem = step("read_link", path);
    return problem ? problem : FileSystem::read_link(path, target);
  }
  int rename(const std::string& from, const std::string& to) override {
    const int problem = step("rename", from);
    return problem ? problem : FileSystem::rename(from, to);
  }
  int remove(const std::string& path) override {
    const int problem = step("remove", path);
    return problem ? problem : FileSystem::remove(path);
  }
  int make_directory(const std::string& path) override {
    const int problem = step("make_directory", path);
    return problem ? problem : FileSystem::make_directory(path);
  }
  int list(const std::string& path, std::vector<std::string>& names) override {
    const int problem = step("list", path);
    return problem ? problem : FileSystem::list(path, names);
  }

 private:
  // 0, or the negative errno with which the operation fails. What fails is not in the log.
  int step(const std::string& verb, const std::string& path) {
    current_ = count_++;
    if (current_ == failing_ && number_ == kKilled) kill(getpid(), SIGKILL);
    if (current_ == failing_ && number_ != kShort) return -number_;
    const size_t slash = path.rfind('/');
    const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
    const bool is_file = name.find('.') != std::string::npos;
    log_.push_back(verb + " " + (name.ends_with(".tmp") ? "temporary" : is_file ? name : "folder"));
    return 0;
  }
  bool is_short() const { return current_ == failing_; }

  int failing_ = -1;
  int number_ = 0;
  int count_ = 0;
  int current_ = 0;
  std::map<int, std::string> names_;
  std::vector<std::string> log_;
};

}  // namespace headlight::test
