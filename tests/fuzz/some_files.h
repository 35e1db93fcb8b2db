// A file system in memory: one folder with some files.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/base/base.h"

namespace headlight::fuzz {

class SomeFiles : public base::FileSystem {
 public:
  using Files = std::vector<std::pair<std::string, std::string_view>>;  // paths and bytes

  SomeFiles(std::string folder, Files files)
      : folder_(std::move(folder)), files_(std::move(files)) {}

  int open(const std::string& path, int, unsigned) override {
    const auto found = std::ranges::find(files_, path, &Files::value_type::first);
    return found == files_.end() ? -ENOENT : static_cast<int>(found - files_.begin());
  }
  int close(int) override { return 0; }
  int64_t read(int file, uint64_t offset, std::span<std::byte> into) override {
    const std::string_view bytes = files_[static_cast<size_t>(file)].second;
    if (offset >= bytes.size()) return 0;
    const size_t count = std::min(into.size(), bytes.size() - static_cast<size_t>(offset));
    std::memcpy(into.data(), bytes.data() + offset, count);
    return static_cast<int64_t>(count);
  }
  int status(int file, base::FileStatus& status) override {
    status = {.kind = base::FileStatus::Kind::regular,
              .size = files_[static_cast<size_t>(file)].second.size()};
    return 0;
  }
  int path_status(const std::string& path, base::FileStatus& status) override {
    if (!folder_.empty() && path == folder_) {
      status = {.kind = base::FileStatus::Kind::directory};
      return 0;
    }
    const int file = open(path, O_RDONLY, 0);
    return file < 0 ? file : this->status(file, status);
  }

 private:
  std::string folder_;
  Files files_;
};

// One file alone.
class OneFile : public SomeFiles {
 public:
  OneFile(std::string path, std::string_view bytes) : SomeFiles("", {{std::move(path), bytes}}) {}
};

}  // namespace headlight::fuzz
