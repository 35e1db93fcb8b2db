// The world around the program: its streams, its environment, its end, places that cannot be
// written.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "tests/base/temporary_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/program.h"
#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

class Streams : public testing::Test {
 protected:
  Streams() : query_(write_numbers(folder_ / "x.npy", {3, 4})) {}
  TemporaryFolder folder_;
  std::string query_;
};

TEST_F(Streams, say_what_can_be_done) {
  const ProgramRun run = run_program({"--help"});
  EXPECT_EQ(run.code, 0);
  EXPECT_NE(run.output.find("headlight train --task lm"), std::string::npos);
  EXPECT_EQ(run.errors, "");
}

TEST_F(Streams, show_version_and_help) {
  EXPECT_TRUE(run_program({"--version"}).output.starts_with("headlight "));
  EXPECT_TRUE(run_program({"--version", "--json"}).output.starts_with("headlight "));
  EXPECT_EQ(run_program({"help"}).output, run_program({"--help"}).output);
  const ProgramRun help = run_program({"attend", "-h"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.output, run_program({"help", "attend"}).output);
  EXPECT_LT(help.output.find("Examples:"), help.output.find("Options:"));
  EXPECT_EQ(run_program({"--help"}, {.set = {"HEADLIGHT_THREADS=none"}}).code, 0);
}

TEST_F(Streams, that_are_full_are_not_enough_disk) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"},
                                                {"attend", "--query", query_},
                                                {"attend", "--query", query_, "--json"}}) {
    expect_one_line(run_program(words, {.output_path = "/dev/full"}), 4,
                    "standard output: No space left");
  }
}

TEST_F(Streams, that_nobody_reads_end_quietly) {
  const ModelFolders& models = model_folders();
  folder_.put("ids.json", "[1, 2]");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"},
        {"train", "--help"},
        {"attend", "--query", query_},
        {"attend", "--query", query_, "--json"},
        {"info", models.gpt()},
        {"tokenize", models.gpt(), "--text", "a"},
        {"generate", models.gpt(), "--prompt", "a"},
        {"generate", models.gpt(), "--prompt", "a", "--beam", "2"},
        {"translate", models.translator(), "--text", "ab"},
        {"embed", models.encoder(), "--text", "a house"},
        {"evaluate", models.gpt(), "--data", folder_.put("a.txt", "a: a: a")},
        {"forward", models.gpt(), "--ids", folder_ / "ids.json"},
        {"explain", "--text", "you"},
        {"explain", "--text", "you", "--format", "html"},
        {"lesson", "steps"}}) {
    SCOPED_TRACE(words[0]);
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    const ProgramRun run = run_program(words, {.output_file = ends[1]});
    close(ends[1]);
    EXPECT_EQ(run.code, 1);
    EXPECT_EQ(run.errors, "");
  }
}

TEST_F(Streams, that_are_closed_take_no_file_s_place) {
  const std::string expected = run_program({"attend", "--query", query_}).output;
  EXPECT_EQ(run_program({"attend", "--query", query_}, {.close_input = true}).output, expected);
  expect_one_line(run_program({"attend", "--query", query_}, {.close_output = true}), 1,
                  "standard output: Bad file descriptor");
  const std::vector<std::string> to_file = {"attend", "--query", query_, "--out",
                                            folder_ / "y.npy"};
  EXPECT_EQ(run_program(to_file, {.close_input = true, .close_output = true}).code, 0);
  EXPECT_EQ(read_floats(folder_ / "y.npy").shape(), (tensor::Shape{3, 4}));
}

TEST_F(Streams, do_not_depend_on_the_environment) {
  const std::vector<std::string> words = {"attend", "--query", query_, "--json"};
  const std::string expected = run_program(words).output;
  EXPECT_EQ(run_program(words, {.set = {"LC_ALL=de_DE.UTF-8", "LANG=tr_TR.UTF-8"}}).output,
            expected);
  EXPECT_EQ(run_program(words, {.unset = {"HOME", "PATH", "TERM", "LANG"}}).output, expected);
  EXPECT_EQ(run_program(words, {.set = {"NO_COLOR=1", "COLUMNS=10", "TERM=dumb"}}).output,
            expected);
}

TEST_F(Streams, show_paths_that_are_not_utf8) {
  const std::string path = write_numbers(folder_ / "\xff\xfe.npy", {2, 2});
  EXPECT_EQ(run_program({"attend", "--query", path}).code, 0);
  expect_one_line(run_program({"attend", "--query", folder_ / "missing\xff.npy"}), 3,
                  "missing\\xff.npy");
  expect_one_line(run_program({"attend", "--query", folder_ / "two\nlines.npy"}), 3,
                  "two\\x0alines.npy");
}

TEST_F(Streams, fail_on_places_that_cannot_be_written) {
  std::filesystem::create_directory(folder_ / "taken.npy");
  std::filesystem::create_symlink("/dev/full", folder_ / "full.npy");
  const auto attend_to = [&](const std::string& trace, const std::string& out) {
    return run_program(
        {"attend", "--query", query_, "--trace", folder_ / trace, "--out", folder_ / out});
  };
  expect_one_line(attend_to("t.safetensors", "no/folder/y.npy"), 1, "there is no directory");
  expect_one_line(attend_to("t.safetensors", "taken.npy"), 1, "taken.npy): is a directory");
  expect_one_line(attend_to("t.safetensors", "x.npy/y.npy"), 1, "x.npy/y.npy");
  expect_one_line(attend_to("t.safetensors", "full.npy"), 4, "full.npy");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "t.safetensors"));
  expect_one_line(attend_to("no/folder/t.safetensors", "y.npy"), 1, "there is no directory");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "y.npy"));
}

TEST_F(Streams, do_not_go_where_an_input_comes_from) {
  namespace fs = std::filesystem;
  fs::create_symlink(query_, folder_ / "link.npy");
  fs::create_hard_link(query_, folder_ / "hard.npy");
  fs::create_directory_symlink(folder_.path(), folder_ / "here");
  const std::string bytes = folder_.get("x.npy");
  for (const char* name : {"link.npy", "hard.npy", "here/x.npy", "./x.npy"}) {
    expect_one_line(run_program({"attend", "--query", query_, "--out", folder_ / name}), 3,
                    "is the file of --query, " + query_ + "; give another name");
    EXPECT_EQ(folder_.get("x.npy"), bytes);
  }
  expect_one_line(run_program({"attend", "--query", query_, "--trace", folder_ / "t.safetensors",
                               "--out", folder_ / "here/t.safetensors"}),
                  3, "is the file of --out");
  EXPECT_FALSE(fs::exists(folder_ / "t.safetensors"));
  fs::copy(model_folders().bare_gpt(), folder_ / "m");
  folder_.put("ids.json", "[1, 2]");
  expect_one_line(run_program({"forward", folder_ / "m", "--ids", folder_ / "ids.json", "--trace",
                               folder_ / "m/model.safetensors"}),
                  2, "is the file of MODEL");
  expect_one_line(run_program({"explain", folder_ / "m", "--text", "a", "--format", "json", "--out",
                               folder_ / "here/m/config.json"}),
                  3, "is the file of MODEL");
}

TEST_F(Streams, go_beside_the_files_of_a_model_as_often_as_one_likes) {
  namespace fs = std::filesystem;
  fs::copy(model_folders().gpt(), folder_ / "m");
  const std::string ids = folder_.put("ids.json", "[1, 2]");
  for (const std::string& model : {folder_ / "m", folder_ / "m/", folder_ / "./m"}) {
    for (int times = 0; times < 2; ++times) {
      const ProgramRun run = run_program(
          {"forward", model, "--ids", ids, "--targets", ids, "--logits", folder_ / "m/logits.npy",
           "--trace", folder_ / "m/trace.safetensors", "--grads", folder_ / "m/grads.safetensors"});
      EXPECT_EQ(run.code, 0) << run.errors;
      const ProgramRun page = run_program(
          {"explain", model, "--text", "a", "--format", "html", "--out", folder_ / "m/walk.html"});
      EXPECT_EQ(page.code, 0) << page.errors;
    }
  }
  // Also under names that it would read the next time.
  for (const char* name : {"config.json", "tokenizer.json", "vocab.json", "encoder.json",
                           "model.safetensors.index.json", "model.safetensors", "run.json"}) {
    const ProgramRun run = run_program(
        {"forward", folder_ / "m", "--ids", ids, "--logits", folder_ / "m/" + std::string(name)});
    EXPECT_TRUE(run.code == 2 || run.code == 3) << run.code << run.errors;
    EXPECT_NE(run.errors.find("is the file of MODEL"), std::string::npos) << run.errors;
  }
}

TEST_F(Streams, do_not_go_where_a_shard_of_a_model_is) {
  namespace fs = std::filesystem;
  fs::copy(model_folders().bare_gpt(), folder_ / "m");
  fs::rename(folder_ / "m/model.safetensors", folder_ / "m/part.safetensors");
  const io::Safetensors part =
      io::open_safetensors(base::real_files(), folder_ / "m/part.safetensors");
  io::Json::Object map;
  for (const auto& entry : part.entries()) map.emplace_back(entry.name, "part.safetensors");
  folder_.put("m/model.safetensors.index.json",
              io::json_text(io::Json::Object{{"weight_map", std::move(map)}}));
  const Words forward = {"forward", folder_ / "m", "--ids", folder_.put("ids.json", "[1, 2]"),
                         "--trace"};
  expect_one_line(run_program(forward + Words{folder_ / "m/part.safetensors"}), 2,
                  "is the file of MODEL");
  for (int times = 0; times < 2; ++times)
    EXPECT_EQ(run_program(forward + Words{folder_ / "m/other.safetensors"}).code, 0);
}

TEST_F(Streams, end_at_a_signal_with_its_code) {
  for (const auto& [signal, code] :
       {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}, std::pair{SIGHUP, 129}}) {
    Program program({"bench"});
    EXPECT_TRUE(program.send(signal));
    const ProgramRun run = program.finish();
    EXPECT_EQ(run.code, code);
    EXPECT_EQ(run.output + run.errors, "");
  }
}

// A value without rows takes no room; its width is more than addresses there are.
TEST_F(Streams, say_when_memory_is_not_enough) {
  const std::string key = write_numbers(folder_ / "k.npy", {0, 4});
  const std::string value = write_numbers(folder_ / "v.npy", {0, int64_t{1} << 45});
  // The sanitizers' allocators abort unless told to refuse, and then have a line of their own.
  const Surroundings around{.set = {"ASAN_OPTIONS=allocator_may_return_null=1",
                                    "TSAN_OPTIONS=allocator_may_return_null=1"}};
  ProgramRun run = run_program(
      {"attend", "--query", query_, "--key", key, "--value", value, "--out", folder_ / "y.npy"},
      around);
  if (run.errors.starts_with("==")) run.errors.erase(0, run.errors.find('\n') + 1);
  expect_one_line(run, 4, "memory");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "y.npy"));
}

}  // namespace
}  // namespace headlight::test
