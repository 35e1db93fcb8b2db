// Writing a file that is whole or not there.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>

#include "headlight/base/file.h"
#include "headlight/base/file_descriptor.h"

namespace headlight::base {
namespace {

constexpr int kMaxLinks = 40;  // as the system's own limit
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr int kNewFileFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;

constexpr const char* kTemporaryStart = ".headlight-";
constexpr const char* kTemporaryEnd = ".tmp";

using Fill = std::function<void(Output&)>;

void check(int64_t result, const std::string& path) {
  if (result < 0) throw_write_error(path, static_cast<int>(-result));
}

class FileOutput : public Output {
 public:
  FileOutput(FileSystem& files, int file, const std::string& path)
      : files_(files), file_(file), path_(path) {}

  using Output::write;
  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const int64_t count = uninterrupted([&] { return files_.write(file_, bytes); });
      check(count == 0 ? -EIO : count, path_);
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
  }

 private:
  FileSystem& files_;
  int file_;
  const std::string& path_;
};

struct Destination {
  std::string path;
  bool is_replaced;  // or else written to directly
  unsigned permissions = 0666;
};

// Follows links by hand: replacing a link would leave the file it points to as it was.
Destination destination_of(FileSystem& files, const std::string& path) {
  std::string place = path;
  for (int links = 0;; ++links) {
    // These stand for descriptors that are open already; a new file under the same name would not
    // reach their reader.
    if (place.starts_with("/proc/") || place.starts_with("/dev/fd/")) return {place, false};
    std::string target;
    if (files.read_link(place, target) < 0) break;
    if (links == kMaxLinks) throw_write_error(path, ELOOP);
    place = target.starts_with('/') ? target : directory_of(place) + "/" + target;
  }
  FileStatus status;
  const int result = files.path_status(place, status);
  if (result == -ENOENT) return {place, true};
  check(result, path);
  return {place, status.kind == FileStatus::Kind::regular, status.permissions};
}

// A name in the directory that no file has: not one of this process (the counter), of another (its
// number), nor one left by a killed process that had the same number (the time).
std::string temporary_name(const std::string& directory) {
  static std::atomic<unsigned> counter{0};
  const auto time = std::chrono::system_clock::now().time_since_epoch().count();
  return directory + "/" + kTemporaryStart + std::to_string(::getpid()) + "-" +
         std::to_string(time) + "-" + std::to_string(counter.fetch_add(1)) + kTemporaryEnd;
}

// The number of the process that made a temporary file; 0 when its name does not say.
pid_t maker_of(std::string_view name) {
  name.remove_prefix(std::string_view(kTemporaryStart).size());
  pid_t process = 0;
  std::from_chars(name.data(), name.data() + name.size(), process);
  return process;
}

// Removes the file unless it took the destination's name.
class Removal {
 public:
  Removal(FileSystem& files, const std::string& path) : files_(files), path_(path) {}
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;
  ~Removal() {
    if (is_wanted_) files_.remove(path_);
  }
  void cancel() { is_wanted_ = false; }

 private:
  FileSystem& files_;
  const std::string& path_;
  bool is_wanted_ = true;
};

void sync(FileSystem& files, int file, const std::string& path) {
  const int result = uninterrupted([&] { return files.sync(file); });
  // Some file systems cannot sync a directory and say so with EINVAL; there is nothing more to do
  // on them.
  if (result != -EINVAL) check(result, path);
}

// A close may bring the error of an earlier write; when it is only interrupted, the file is closed
// all the same.
void close(Descriptor& file, const std::string& path) {
  const int result = file.close();
  if (result != -EINTR) check(result, path);
}

// Errors name `path`, what the user asked for.
void replace(FileSystem& files, const Destination& destination, const std::string& path,
             const Fill& fill) {
  // Opened first, so that after the renaming nothing but the sync itself can fail.
  const Descriptor directory(files, directory_of(destination.path), kDirectoryFlags);
  check(directory.number(), path);
  const std::string temporary = temporary_name(directory_of(destination.path));
  Descriptor file(files, temporary, kNewFileFlags, destination.permissions);
  check(file.number(), path);
  Removal removal(files, temporary);
  FileOutput output(files, file.number(), path);
  fill(output);
  sync(files, file.number(), path);
  close(file, path);
  check(files.rename(temporary, destination.path), path);
  removal.cancel();
  sync(files, directory.number(), path);
}

void write_directly(FileSystem& files, const Destination& destination, const std::string& path,
                    const Fill& fill) {
  // O_APPEND: when standard output goes to a file, that file may hold something already.
  Descriptor file(files, destination.path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
  check(file.number(), path);
  FileOutput output(files, file.number(), path);
  fill(output);
  close(file, path);
}

// Of what was made just now, as far as it can be removed.
void remove_tree(FileSystem& files, const std::string& path) {
  std::vector<std::string> names;
  if (files.list(path, names) >= 0) {
    for (const std::string& name : names) remove_tree(files, path + "/" + name);
  }
  files.remove(path);
}

}  // namespace

void write_file(FileSystem& files, const std::string& path,
                const std::function<void(Output&)>& fill) {
  const Destination destination = destination_of(files, path);
  if (destination.is_replaced) {
    replace(files, destination, path, fill);
  } else {
    write_directly(files, destination, path, fill);
  }
}

void write_file(FileSystem& files, const std::string& path, std::string_view bytes) {
  write_file(files, path, [&](Output& output) { output.write(bytes); });
}

void write_directory(FileSystem& files, const std::string& path,
                     const std::function<void(const std::string& temporary)>& fill) {
  const std::string temporary = temporary_name(directory_of(path));
  make_directories(files, temporary);
  try {
    fill(temporary);
    check(files.rename(temporary, path), path);
  } catch (...) {
    remove_tree(files, temporary);
    throw;
  }
  sync_directory(files, directory_of(path));
}

bool is_temporary(std::string_view name) {
  return name.starts_with(kTemporaryStart) && name.ends_with(kTemporaryEnd);
}

bool is_left_behind(std::string_view name) {
  if (!is_temporary(name)) return false;
  const pid_t process = maker_of(name);
  return process <= 0 || process == ::getpid() || (::kill(process, 0) < 0 && errno == ESRCH);
}

void check_files_can_be_made(FileSystem& files, const std::string& directory) {
  const std::string temporary = temporary_name(directory);
  Descriptor file(files, temporary, kNewFileFlags, 0666);
  check(file.number(), directory);
  const Removal removal(files, temporary);
  close(file, directory);
}

void sync_directory(FileSystem& files, const std::string& path) {
  const Descriptor directory(files, path, kDirectoryFlags);
  check(directory.number(), path);
  sync(files, directory.number(), path);
}

}  // namespace headlight::base
