// Inputs, directories and what an errno means.
#include "headlight/base/file.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "headlight/base/error.h"
#include "headlight/base/file_descriptor.h"

namespace headlight::base {
namespace {

constexpr const char* kReading = "cannot read";
constexpr const char* kWriting = "cannot write";

// Not strerror: its text follows the locale.
std::string text_of(int number) {
  const char* text = strerrordesc_np(number);
  return text ? text : "error " + std::to_string(number);
}

const char* name_of(FileStatus::Kind kind) {
  switch (kind) {
    case FileStatus::Kind::regular:
      return "a regular file";
    case FileStatus::Kind::directory:
      return "a directory";
    case FileStatus::Kind::pipe:
      return "a pipe";
    case FileStatus::Kind::device:
      return "a device";
    case FileStatus::Kind::other:
      return "a socket or the like";
  }
  return "";
}

[[noreturn]] void throw_missing(const Input& input, uint64_t offset, uint64_t missing) {
  throw Error(ErrorKind::bad_input, kReading, input.name(),
              std::to_string(missing) + " bytes from byte " + std::to_string(offset) +
                  " on are missing: the file had " + std::to_string(input.size()) +
                  " bytes and shrank while it was read");
}

// Of disk or memory.
bool is_shortage(int number) { return number == ENOSPC || number == EDQUOT || number == ENOMEM; }

// Without O_NONBLOCK the opening of a pipe would wait for a writer.
constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

class FileInput : public Input {
 public:
  FileInput(FileSystem& files, const std::string& path)
      : files_(files), path_(path), file_(files, path, kReadFlags) {
    if (file_.number() < 0) throw_read_error(path_, -file_.number());
    FileStatus status;
    const int result = files_.status(file_.number(), status);
    if (result < 0) throw_read_error(path_, -result);
    if (status.kind != FileStatus::Kind::regular) {
      throw Error(ErrorKind::bad_input, kReading, path_,
                  std::string("it is ") + name_of(status.kind) + ", a regular file is needed");
    }
    size_ = status.size;
  }

  const std::string& name() const override { return path_; }
  uint64_t size() const override { return size_; }

  void read(uint64_t offset, std::span<std::byte> into) const override {
    while (!into.empty()) {
      const int64_t count =
          uninterrupted([&] { return files_.read(file_.number(), offset, into); });
      if (count < 0) throw_read_error(path_, static_cast<int>(-count));
      if (count == 0) throw_missing(*this, offset, into.size());
      offset += static_cast<uint64_t>(count);
      into = into.subspan(static_cast<size_t>(count));
    }
  }

 private:
  FileSystem& files_;
  std::string path_;
  Descriptor file_;
  uint64_t size_ = 0;
};

}  // namespace

void throw_read_error(const std::string& path, int number) {
  ErrorKind kind = ErrorKind::bad_input;
  if (number == EMFILE || number == ENFILE) kind = ErrorKind::failed;
  if (is_shortage(number)) kind = ErrorKind::out_of_memory;
  throw Error(kind, kReading, path, text_of(number));
}

void throw_write_error(const std::string& path, int number) {
  throw Error(is_shortage(number) ? ErrorKind::out_of_memory : ErrorKind::failed, kWriting, path,
              text_of(number));
}

std::unique_ptr<Input> open_input(FileSystem& files, const std::string& path) {
  return std::make_unique<FileInput>(files, path);
}

MemoryInput::MemoryInput(std::string name, std::span<const std::byte> bytes)
    : name_(std::move(name)), bytes_(bytes) {}

void MemoryInput::read(uint64_t offset, std::span<std::byte> into) const {
  const uint64_t available = offset < size() ? size() - offset : 0;
  if (into.size() > available) throw_missing(*this, offset + available, into.size() - available);
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
}

std::string read_all(const Input& input, uint64_t limit) {
  if (input.size() > limit) {
    throw Error(
        ErrorKind::bad_input, kReading, input.name(),
        std::to_string(input.size()) + " bytes, at most " + std::to_string(limit) + " are read");
  }
  std::string text(input.size(), '\0');
  input.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

bool exists(FileSystem& files, const std::string& path) {
  FileStatus status;
  const int result = files.path_status(path, status);
  if (result < 0 && result != -ENOENT && result != -ENOTDIR) throw_read_error(path, -result);
  return result == 0;
}

std::vector<std::string> list_directory(FileSystem& files, const std::string& path) {
  std::vector<std::string> names;
  const int result = files.list(path, names);
  if (result < 0) throw_read_error(path, -result);
  std::sort(names.begin(), names.end());
  return names;
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void make_directories(FileSystem& files, const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    const int result = files.make_directory(part);
    FileStatus status;
    const int seen = files.path_status(part, status);
    if (seen < 0) throw_write_error(part, result < 0 && result != -EEXIST ? -result : -seen);
    if (status.kind != FileStatus::Kind::directory) throw_write_error(part, ENOTDIR);
    if (result == 0) sync_directory(files, directory_of(part));
    if (end == std::string::npos) return;
  }
}

void remove_file(FileSystem& files, const std::string& path) {
  const int result = files.remove(path);
  if (result < 0) throw_write_error(path, -result);
}

}  // namespace headlight::base
