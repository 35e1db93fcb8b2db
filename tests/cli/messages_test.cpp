// Errors that name what is wrong, where, and the way out, for what people run into around the
// program: folders that may not be read, files of another kind, names that are too long.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/arrays.h"
#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

class Messages : public testing::Test {
 protected:
  // Bytes of a program or a picture.
  std::string binary() const {
    std::string bytes =
        "\x7f"
        "ELF\x02\x01\x01";
    for (int i = 0; i < 2000; ++i) bytes += static_cast<char>(i * i * 37 % 251);
    return folder_.put("picture.png", bytes);
  }
  TemporaryFolder folder_;
};

TEST_F(Messages, tell_a_binary_file_from_a_text_of_another_encoding) {
  const std::string picture = binary();
  const Words train = {"train", "--task", "lm", "--out", folder_ / "run", "--data"};
  for (const Words& words : {train + Words{picture},
                             {"generate", "stories", "--prompt-file", picture},
                             {"evaluate", "stories", "--data", picture},
                             {"explain", "--text", "you", "--sentences", picture}}) {
    SCOPED_TRACE(words[0]);
    expect_one_line(run_program(words), 3, "it looks like a binary file, a text is needed");
  }
  expect_one_line(run_program({"tokenize", "stories"}, {.input_path = picture}), 3,
                  "it looks like a binary file");
  const std::string turkish = folder_.put("tr.txt",
                                          "a\xf0"
                                          "a\xe7 \xfe\xf6yle \xe7ok g\xfczel");
  expect_one_line(run_program(train + Words{turkish}), 3, "read it with --encoding cp1254");
}

TEST_F(Messages, do_not_offer_an_encoding_where_there_is_none) {
  const ProgramRun run = run_program({"train", "--task", "copy", "--out", folder_ / "run",
                                      "--config", folder_.put("c.toml", "a = \"\xe7\"")});
  expect_one_line(run, 3, "c.toml): not UTF-8 at byte 5; a file of lines key = value is needed");
  EXPECT_EQ(run.errors.find("--encoding"), std::string::npos) << run.errors;
}

TEST_F(Messages, say_that_there_is_no_run_to_go_on_with) {
  for (const char* name : {"none", "empty"}) {
    fs::create_directories(folder_ / "empty");
    expect_one_line(run_program({"train", "--out", folder_ / name, "--resume"}), 3,
                    "there is no run to go on with; --task NAME starts one");
  }
  EXPECT_FALSE(fs::exists(folder_ / "none"));
}

// A model that may be there is not said to be missing.
TEST_F(Messages, say_why_a_model_cannot_be_looked_for) {
  fs::create_symlink("loop", folder_ / "loop");
  for (const std::string& name : {folder_ / "loop", folder_ / std::string(300, 'a')}) {
    const ProgramRun run = run_program({"info", name});
    expect_one_line(run, 3, "cannot read (" + name + "): ");
    EXPECT_EQ(run.errors.find("no such file"), std::string::npos) << run.errors;
  }
  expect_one_line(run_program({"info", folder_ / "none"}), 3, "there is no such file or folder");
}

TEST_F(Messages, say_that_an_output_cannot_be_made) {
  fs::create_symlink("loop", folder_ / "loop");
  const std::string file = folder_.put("file", "");
  for (const std::string& out : {folder_ / "loop/run", folder_ / std::string(300, 'a'),
                                 file + "/run", std::string("/proc/run")}) {
    const ProgramRun run = run_program(small_copy(out, 1));
    EXPECT_EQ(run.code, 1) << run.errors;
    EXPECT_TRUE(run.errors.starts_with("headlight: cannot ")) << run.errors;
  }
}

}  // namespace
}  // namespace headlight::test
