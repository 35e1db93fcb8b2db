// Files that are whole or not there, with a fault at each operation.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "headlight/base/error.h"
#include "headlight/base/file.h"
#include "tests/base/faulty_files.h"
#include "tests/base/temporary_folder.h"

namespace headlight::base {
namespace {

using test::FaultyFiles;
using test::TemporaryFolder;

const std::vector<std::string> kOnlyTheFile = {"a.bin"};

void write_new(FileSystem& files, const std::string& path) {
  write_file(files, path, [](Output& output) {
    output.write("new");
    output.write(" bytes");
  });
}

TEST(WriteFile, makes_a_file_and_replaces_it) {
  const TemporaryFolder folder;
  write_file(real_files(), folder / "a.bin", "old");
  EXPECT_EQ(folder.get("a.bin"), "old");
  write_new(real_files(), folder / "a.bin");
  EXPECT_EQ(folder.get("a.bin"), "new bytes");
  EXPECT_EQ(list_directory(real_files(), folder.path()), kOnlyTheFile);
}

TEST(WriteFile, syncs_the_file_then_renames_it_then_syncs_the_directory) {
  const TemporaryFolder folder;
  FaultyFiles files;
  write_new(files, folder / "a.bin");
  const std::vector<std::string> order = {
      "read_link a.bin",  "path_status a.bin", "open folder",    "open temporary",
      "write temporary",  "write temporary",   "sync temporary", "close temporary",
      "rename temporary", "sync folder",       "close folder"};
  // A file that is not there yet fails its read_link and path_status by nature, and is in the log
  // all the same.
  EXPECT_EQ(files.log(), order);
}

TEST(WriteFile, leaves_the_old_file_or_the_new_one_whatever_fails) {
  const TemporaryFolder folder;
  folder.put("a.bin", "old");
  FaultyFiles counting;
  write_new(counting, folder / "a.bin");
  const std::vector<std::pair<int, ErrorKind>> faults = {
      {EIO, ErrorKind::failed}, {ENOSPC, ErrorKind::out_of_memory}, {EMFILE, ErrorKind::failed}};
  int errors = 0;
  for (const auto& [number, kind] : faults) {
    for (int operation = 0; operation < counting.operations(); ++operation) {
      folder.put("a.bin", "old");
      FaultyFiles files;
      files.fail(operation, number);
      try {
        write_new(files, folder / "a.bin");
        EXPECT_EQ(folder.get("a.bin"), "new bytes") << operation;
      } catch (const Error& error) {
        ++errors;
        EXPECT_EQ(error.kind(), kind) << error.what();
        EXPECT_NE(std::string(error.what()).find(folder / "a.bin"), std::string::npos)
            << error.what();
        EXPECT_EQ(folder.get("a.bin"), files.did("rename temporary") ? "new bytes" : "old")
            << operation;
      }
      EXPECT_EQ(list_directory(real_files(), folder.path()), kOnlyTheFile) << operation;
    }
  }
  // All but read_link (then it is no link) and the closing of the directory that was only read.
  EXPECT_EQ(errors, 3 * (counting.operations() - 2));
}

TEST(WriteFile, goes_on_after_short_writes_and_interruptions) {
  const TemporaryFolder folder;
  for (const int number : {FaultyFiles::kShort, EINTR}) {
    for (const int operation : {2, 3, 4, 5, 6, 7, 9}) {
      folder.put("a.bin", "old");
      FaultyFiles files;
      files.fail(operation, number);
      write_new(files, folder / "a.bin");
      EXPECT_EQ(folder.get("a.bin"), "new bytes");
    }
  }
}

TEST(WriteFile, leaves_the_old_file_when_the_filling_throws) {
  const TemporaryFolder folder;
  folder.put("a.bin", "old");
  EXPECT_THROW(write_file(real_files(), folder / "a.bin",
                          [](Output& output) {
                            output.write("half");
                            throw Error(ErrorKind::bad_input, "test", "", "stop");
                          }),
               Error);
  EXPECT_EQ(folder.get("a.bin"), "old");
  EXPECT_EQ(list_directory(real_files(), folder.path()), kOnlyTheFile);
}

TEST(WriteFile, does_not_write_where_it_cannot) {
  const TemporaryFolder folder;
  folder.put("a.bin", "old");
  for (const std::string& path :
       {folder / "none/b.bin", folder / "a.bin/b.bin", folder.path(), std::string()}) {
    try {
      write_file(real_files(), path, "new");
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::failed) << error.what();
    }
  }
  EXPECT_EQ(list_directory(real_files(), folder.path()), kOnlyTheFile);
}

TEST(WriteFile, keeps_the_permissions_of_the_file_it_replaces) {
  const TemporaryFolder folder;
  ASSERT_EQ(chmod(folder.put("a.bin", "secret").c_str(), 0600), 0);
  write_new(real_files(), folder / "a.bin");
  FileStatus status;
  real_files().path_status(folder / "a.bin", status);
  EXPECT_EQ(status.permissions, 0600u);
}

TEST(WriteFile, follows_links) {
  const TemporaryFolder folder;
  make_directories(real_files(), folder / "deep");
  folder.put("deep/a.bin", "old");
  ASSERT_EQ(symlink("deep/a.bin", (folder / "link").c_str()), 0);
  ASSERT_EQ(symlink((folder / "link").c_str(), (folder / "second").c_str()), 0);
  write_new(real_files(), folder / "second");
  EXPECT_EQ(folder.get("deep/a.bin"), "new bytes");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "second"));
}

TEST(WriteFile, stops_at_links_in_a_circle) {
  const TemporaryFolder folder;
  ASSERT_EQ(symlink("b.bin", (folder / "a.bin").c_str()), 0);
  ASSERT_EQ(symlink("a.bin", (folder / "b.bin").c_str()), 0);
  EXPECT_THROW(write_new(real_files(), folder / "a.bin"), Error);
}

TEST(WriteFile, to_a_full_device_is_out_of_memory) {
  if (!exists(real_files(), "/dev/full")) GTEST_SKIP() << "no /dev/full";
  try {
    write_file(real_files(), "/dev/full", "x");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    EXPECT_STREQ(error.what(), "cannot write (/dev/full): No space left on device");
  }
  EXPECT_TRUE(exists(real_files(), "/dev/full"));
}

TEST(WriteFile, to_a_pipe_goes_through_it) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  write_file(real_files(), "/dev/fd/" + std::to_string(ends[1]), "through");
  std::string text(7, ' ');
  EXPECT_EQ(read(ends[0], text.data(), text.size()), 7);
  EXPECT_EQ(text, "through");
  close(ends[0]);
  close(ends[1]);
}

TEST(WriteFile, to_a_descriptor_of_a_file_adds_to_the_file) {
  const TemporaryFolder folder;
  const int file = open(folder.put("a.bin", "before ").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(file, 0);
  write_file(real_files(), "/proc/self/fd/" + std::to_string(file), "after");
  close(file);
  EXPECT_EQ(folder.get("a.bin"), "before after");
  EXPECT_EQ(list_directory(real_files(), folder.path()), kOnlyTheFile);
}

TEST(TemporaryFiles, are_left_behind_when_their_process_has_ended) {
  const TemporaryFolder folder;
  std::string name;
  write_file(real_files(), folder / "a.bin", [&](Output&) {
    for (const std::string& entry : list_directory(real_files(), folder.path())) name = entry;
  });
  EXPECT_TRUE(is_temporary(name)) << name;
  EXPECT_TRUE(is_left_behind(name)) << "this process writes nothing now";
  const auto made_by = [&](pid_t process) {
    return ".headlight-" + std::to_string(process) + name.substr(name.find('-', 11));
  };
  EXPECT_EQ(made_by(getpid()), name);
  EXPECT_FALSE(is_left_behind(made_by(getppid())));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_left_behind(made_by(child)));
  EXPECT_TRUE(is_left_behind(".headlight-probe.tmp"));
  EXPECT_FALSE(is_left_behind("a.bin"));
}

TEST(FilesCanBeMade, says_whether_and_leaves_nothing) {
  const TemporaryFolder folder;
  check_files_can_be_made(real_files(), folder.path());
  EXPECT_EQ(list_directory(real_files(), folder.path()), std::vector<std::string>());
  EXPECT_THROW(check_files_can_be_made(real_files(), folder / "none"), Error);
  FaultyFiles full;
  full.fail(0, ENOSPC);
  EXPECT_THROW(check_files_can_be_made(full, folder.path()), Error);
}

}  // namespace
}  // namespace headlight::base
