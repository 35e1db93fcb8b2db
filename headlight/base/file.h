// The one seam to files: every operation goes through a FileSystem, so that tests can make any of
// them fail and see their order. Files are read, never mapped
// (docs/decisions/0002-files-are-read-not-mapped.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::base {

// A file that is part of the program (cmake/HeadlightEmbed.cmake).
struct EmbeddedFile {
  std::string_view path;  // in its folder, "numbers/config.json"
  std::string_view bytes;
};

struct FileStatus {
  enum class Kind { regular, directory, pipe, device, other };
  Kind kind = Kind::other;
  uint64_t size = 0;
  unsigned permissions = 0;  // the lowest nine bits of the mode
};

// The operating system's own operations, one call each and nothing more. Each gives its result, 0
// or more, or a negative errno, and does what POSIX says of the call it is named after; short reads
// and writes included. A test derives from it and overrides.
class FileSystem {
 public:
  FileSystem() = default;
  virtual ~FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  virtual int open(const std::string& path, int flags, unsigned permissions);
  virtual int close(int file);
  virtual int64_t read(int file, uint64_t offset, std::span<std::byte> into);
  virtual int64_t write(int file, std::span<const std::byte> bytes);
  virtual int sync(int file);
  virtual int status(int file, FileStatus& status);
  virtual int path_status(const std::string& path, FileStatus& status);  // of what a link points to
  virtual int read_link(const std::string& path, std::string& target);
  virtual int rename(const std::string& from, const std::string& to);
  virtual int remove(const std::string& path);
  virtual int make_directory(const std::string& path);
  virtual int list(const std::string& path, std::vector<std::string>& names);  // without . and ..
};

// The operating system's files.
FileSystem& real_files();

// Bytes of known number that can be read anywhere. Reading from several threads is safe.
class Input {
 public:
  virtual ~Input() = default;
  virtual const std::string& name() const = 0;  // the path, for errors
  virtual uint64_t size() const = 0;            // when it was opened
  // Fills `into` with the bytes from `offset` on. Throws Error(bad_input) when they are not all
  // there (the file shrank) or cannot be read.
  virtual void read(uint64_t offset, std::span<std::byte> into) const = 0;
};

// Opens a regular file. Throws Error(bad_input) for anything else (a directory, a pipe, a device),
// for a missing file or one that may not be read. Opening never waits.
std::unique_ptr<Input> open_input(FileSystem& files, const std::string& path);

// Bytes in memory, which the caller keeps alive.
class MemoryInput : public Input {
 public:
  MemoryInput(std::string name, std::span<const std::byte> bytes);
  const std::string& name() const override { return name_; }
  uint64_t size() const override { return bytes_.size(); }
  void read(uint64_t offset, std::span<std::byte> into) const override;

 private:
  std::string name_;
  std::span<const std::byte> bytes_;
};

// All bytes; throws Error(bad_input) when there are more than `limit`.
std::string read_all(const Input& input, uint64_t limit);

// Where bytes go, one after the other.
class Output {
 public:
  virtual ~Output() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
};

// Writes a file that is whole or not there: `fill` writes to a temporary file beside it, which is
// synced, takes the name, and then the directory is synced. After a failure the temporary file is
// gone and the old file is as it was (only if nothing but the directory's sync failed, the new file
// has its name already). A link is followed. What is not a regular file, such as /dev/stdout, is
// written to directly. Throws Error(failed), and Error(out_of_memory) when the disk is full.
void write_file(FileSystem& files, const std::string& path,
                const std::function<void(Output&)>& fill);
void write_file(FileSystem& files, const std::string& path, std::string_view bytes);
// The same of a directory that is not there yet: `fill` writes files, in folders too, by write_file
// into a temporary one beside it, which then takes the name. After a failure nothing is left of it.
void write_directory(FileSystem& files, const std::string& path,
                     const std::function<void(const std::string& temporary)>& fill);
// Whether a file's name is that of such a temporary file; a killed process may leave one.
bool is_temporary(std::string_view name);
// Whether it is, and nobody writes it any more: its process has ended, or is this one, which is
// taken to write nothing just now.
bool is_left_behind(std::string_view name);
// Before long work: that files can be made in the directory, by making one and removing it again.
// Any number of processes may do so at once. Throws as write_file() does.
void check_files_can_be_made(FileSystem& files, const std::string& directory);

// Whether something has this name. Throws Error(bad_input) when the system cannot tell.
bool exists(FileSystem& files, const std::string& path);
// Names in the directory, sorted. Throws Error(bad_input).
std::vector<std::string> list_directory(FileSystem& files, const std::string& path);
// Makes the directory and those above it, where they are not there yet, and syncs those that they
// are made in. These throw Error(failed) or Error(out_of_memory).
void make_directories(FileSystem& files, const std::string& path);
void remove_file(FileSystem& files, const std::string& path);
// What stands before the last slash; "." without one.
std::string directory_of(const std::string& path);
// Makes the names in a directory durable: what was renamed or removed in it stays so after a crash.
void sync_directory(FileSystem& files, const std::string& path);

}  // namespace headlight::base
