// Inputs, directories, and the errors of both.
#include "headlight/base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "headlight/base/error.h"
#include "tests/base/faulty_files.h"
#include "tests/base/temporary_folder.h"

namespace headlight::base {
namespace {

using test::FaultyFiles;
using test::TemporaryFolder;

// The error's kind and text.
struct Caught {
  ErrorKind kind{};
  std::string text = "no error";
};

template <class Call>
Caught caught(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Caught caught_opening(const std::string& path) {
  return caught([&] { open_input(real_files(), path); });
}

TEST(Input, reads_any_range_of_a_file) {
  const TemporaryFolder folder;
  const auto input = open_input(real_files(), folder.put("a.bin", "0123456789"));
  EXPECT_EQ(input->size(), 10u);
  EXPECT_EQ(input->name(), folder / "a.bin");
  std::string part(4, ' ');
  input->read(3, std::as_writable_bytes(std::span(part)));
  EXPECT_EQ(part, "3456");
  EXPECT_EQ(read_all(*input, 10), "0123456789");
}

TEST(Input, of_an_empty_file_has_no_bytes) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_all(*open_input(real_files(), folder.put("a.bin", "")), 10), "");
}

TEST(Input, refuses_to_read_more_than_the_limit) {
  const TemporaryFolder folder;
  const auto input = open_input(real_files(), folder.put("a.bin", "0123456789"));
  const Caught error = caught([&] { read_all(*input, 9); });
  EXPECT_EQ(error.kind, ErrorKind::bad_input);
  EXPECT_TRUE(contains(error.text, "10 bytes, at most 9 are read")) << error.text;
}

TEST(Input, that_is_missing_is_bad_input) {
  const TemporaryFolder folder;
  const Caught error = caught_opening(folder / "none.npy");
  EXPECT_EQ(error.kind, ErrorKind::bad_input);
  EXPECT_EQ(error.text, "cannot read (" + (folder / "none.npy") + "): No such file or directory");
}

TEST(Input, that_is_a_directory_is_refused) {
  const TemporaryFolder folder;
  const Caught error = caught_opening(folder.path());
  EXPECT_EQ(error.kind, ErrorKind::bad_input);
  EXPECT_TRUE(contains(error.text, "it is a directory, a regular file is needed")) << error.text;
}

TEST(Input, that_is_a_pipe_is_refused_without_waiting_for_a_writer) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(
      contains(caught_opening(folder / "pipe").text, "it is a pipe, a regular file is needed"));
}

TEST(Input, that_is_a_device_is_refused) {
  EXPECT_TRUE(
      contains(caught_opening("/dev/zero").text, "it is a device, a regular file is needed"));
}

TEST(Input, without_permission_is_refused) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TemporaryFolder folder;
  const std::string path = folder.put("a.bin", "0123");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  const Caught error = caught_opening(path);
  EXPECT_EQ(error.kind, ErrorKind::bad_input);
  EXPECT_TRUE(contains(error.text, "Permission denied")) << error.text;
}

TEST(Input, whose_name_holds_a_nul_is_not_the_file_before_it) {
  const TemporaryFolder folder;
  const std::string path = folder.put("a.bin", "0123");
  EXPECT_EQ(caught_opening(path + std::string("\0.npy", 5)).kind, ErrorKind::bad_input);
}

TEST(Input, that_shrinks_while_it_is_read_is_an_error) {
  const TemporaryFolder folder;
  const auto input = open_input(real_files(), folder.put("a.bin", "0123456789"));
  ASSERT_EQ(truncate((folder / "a.bin").c_str(), 4), 0);
  const Caught error = caught([&] { read_all(*input, 100); });
  EXPECT_EQ(error.kind, ErrorKind::bad_input);
  EXPECT_TRUE(
      contains(error.text, "6 bytes from byte 4 on are missing: the file had 10 bytes and shrank"))
      << error.text;
}

TEST(Input, survives_short_and_interrupted_reads) {
  const TemporaryFolder folder;
  const std::string path = folder.put("a.bin", "0123456789");
  for (const int number : {FaultyFiles::kShort, EINTR}) {
    FaultyFiles files;
    files.fail(2, number);  // after open and status
    EXPECT_EQ(read_all(*open_input(files, path), 100), "0123456789");
    EXPECT_EQ(files.operations(), 5);  // two reads and the close
  }
}

TEST(Input, passes_on_faults_of_each_operation) {
  const TemporaryFolder folder;
  const std::string path = folder.put("a.bin", "0123456789");
  const std::vector<std::pair<int, ErrorKind>> faults = {
      {EIO, ErrorKind::bad_input}, {EMFILE, ErrorKind::failed}, {ENOMEM, ErrorKind::out_of_memory}};
  for (const auto& [number, kind] : faults) {
    for (int operation = 0; operation < 3; ++operation) {
      FaultyFiles files;
      files.fail(operation, number);
      const Caught error = caught([&] { read_all(*open_input(files, path), 100); });
      EXPECT_EQ(error.kind, kind) << error.text;
      EXPECT_TRUE(contains(error.text, path)) << error.text;
      EXPECT_EQ(files.did("open a.bin"), files.did("close a.bin"));
    }
  }
}

TEST(MemoryInput, reads_its_bytes_and_no_others) {
  const std::string bytes = "0123456789";
  const MemoryInput input("memory", std::as_bytes(std::span(bytes)));
  EXPECT_EQ(read_all(input, 10), bytes);
  std::string part(4, ' ');
  const Caught error = caught([&] { input.read(8, std::as_writable_bytes(std::span(part))); });
  EXPECT_TRUE(contains(error.text, "2 bytes from byte 10 on are missing")) << error.text;
  EXPECT_EQ(caught([&] { input.read(UINT64_MAX, std::as_writable_bytes(std::span(part))); }).kind,
            ErrorKind::bad_input);
}

TEST(Directories, are_made_with_those_above_them) {
  const TemporaryFolder folder;
  make_directories(real_files(), folder / "a/b/c");
  make_directories(real_files(), folder / "a/b/c/");
  EXPECT_TRUE(exists(real_files(), folder / "a/b/c"));
  EXPECT_FALSE(exists(real_files(), folder / "a/b/d"));
}

TEST(Directories, are_not_made_where_a_file_is) {
  const TemporaryFolder folder;
  folder.put("a", "");
  EXPECT_EQ(caught([&] { make_directories(real_files(), folder / "a/b"); }).kind,
            ErrorKind::failed);
  EXPECT_EQ(caught([&] { make_directories(real_files(), folder / "a"); }).kind, ErrorKind::failed);
}

TEST(Directories, are_listed_in_order) {
  const TemporaryFolder folder;
  for (const char* name : {"c", "a", "b"}) folder.put(name, "");
  EXPECT_EQ(list_directory(real_files(), folder.path()), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(caught([&] { list_directory(real_files(), folder / "none"); }).kind,
            ErrorKind::bad_input);
}

TEST(Directories, are_synced_and_their_files_removed) {
  const TemporaryFolder folder;
  folder.put("b", "1");
  remove_file(real_files(), folder / "b");
  EXPECT_FALSE(exists(real_files(), folder / "b"));
  sync_directory(real_files(), folder.path());
  EXPECT_EQ(caught([&] { remove_file(real_files(), folder / "b"); }).kind, ErrorKind::failed);
  EXPECT_EQ(caught([&] { sync_directory(real_files(), folder / "none"); }).kind, ErrorKind::failed);
}

}  // namespace
}  // namespace headlight::base
