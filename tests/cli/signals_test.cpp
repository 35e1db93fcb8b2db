// Signals at every moment: a run is saved, no half-made file is left, and nothing that waits for
// somebody else keeps the program from ending.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/cli/arrays.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/pseudo_terminal.h"
#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

void pause(milliseconds time) { std::this_thread::sleep_for(time); }

class Signals : public testing::Test {
 protected:
  // A run that would take hours.
  Words long_run(const Words& more = {}) const {
    return small_copy(folder_ / "run", 10'000'000) + more;
  }
  void wait_for_run() const {
    for (int i = 0; i < 3000 && !fs::exists(folder_ / "run/checkpoint/manifest.json"); ++i)
      pause(milliseconds(10));
    pause(milliseconds(50));  // for some steps
  }
  // All steps that there were; where the machine was busy, the signal came before the first.
  void expect_saved() const {
    const io::Json manifest = io::parse_json(folder_.get("run/checkpoint/manifest.json"), "");
    ASSERT_NE(manifest.find("step"), nullptr);
    const int64_t step = *manifest.find("step")->integer();
    if (step == 0) return;
    EXPECT_TRUE(
        fs::exists(folder_ / ("run/checkpoint/model-" + std::to_string(step) + ".safetensors")));
  }
  std::string fifo(const std::string& name) const {
    EXPECT_EQ(mkfifo((folder_ / name).c_str(), 0600), 0);
    return folder_ / name;
  }

  TemporaryFolder folder_;
};

TEST_F(Signals, save_a_training_whose_terminal_goes) {
  for (const Words& more : {Words{}, {"--json"}, {"--quiet"}}) {
    SCOPED_TRACE(more.empty() ? "" : more[0]);
    fs::remove_all(folder_ / "run");
    PseudoTerminal terminal;
    Program program(long_run(more), {.terminal_path = terminal.path()});
    wait_for_run();
    terminal.hang_up();
    EXPECT_EQ(program.finish().code, 128 + SIGHUP);
    expect_saved();
  }
}

TEST_F(Signals, that_are_ignored_stay_so) {
  const auto before = signal(SIGHUP, SIG_IGN);  // as nohup does; a child inherits it
  PseudoTerminal terminal;
  Program program(small_copy(folder_ / "run", 300), {.terminal_path = terminal.path()});
  signal(SIGHUP, before);
  wait_for_run();
  terminal.hang_up();
  for (int i = 0; i < 5; ++i) {
    kill(program.id(), SIGHUP);
    pause(milliseconds(5));
  }
  EXPECT_EQ(program.finish().code, 0) << "its terminal has gone, and nobody is told";
  EXPECT_TRUE(fs::exists(folder_ / "run/checkpoint/model-300.safetensors"));
}

// Shells and `timeout` send theirs to the process and to its group.
TEST_F(Signals, that_come_twice_at_once_are_one) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    SCOPED_TRACE(signal);
    fs::remove_all(folder_ / "run");
    Program program(long_run());
    wait_for_run();
    ASSERT_TRUE(program.send(signal));
    for (int i = 0; i < 20; ++i) {
      kill(program.id(), signal);
      kill(program.id(), SIGHUP);
      pause(milliseconds(1));
    }
    // Of two that wait, the system gives the lower number first.
    const int code = program.finish().code;
    EXPECT_TRUE(code == 128 + signal || code == 128 + SIGHUP) << code;
    expect_saved();
  }
}

TEST_F(Signals, do_not_wait_for_a_reader_who_has_stopped) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    SCOPED_TRACE(signal);
    fs::remove_all(folder_ / "run");
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 4096);
    Program program(long_run({"--json", "--log_interval", "1"}), {.output_file = ends[1]});
    wait_for_run();
    ASSERT_TRUE(program.wait_until_blocked()) << "the pipe is full";
    ASSERT_TRUE(program.send(signal));
    EXPECT_EQ(program.finish().code, 128 + signal);
    expect_saved();
    close(ends[0]);
    close(ends[1]);
  }
}

TEST_F(Signals, stop_and_go_on) {
  Program program(small_copy(folder_ / "run", 300));
  wait_for_run();
  for (int i = 0; i < 5; ++i) {
    kill(program.id(), SIGTSTP);
    pause(milliseconds(10));
    kill(program.id(), SIGCONT);
    pause(milliseconds(5));
  }
  EXPECT_EQ(program.finish().code, 0);
  ASSERT_EQ(run_program(small_copy(folder_ / "whole", 300)).code, 0);
  EXPECT_TRUE(result_of(folder_, "run", 300) == result_of(folder_, "whole", 300));
}

class SignalsAndPipes : public Signals {
 protected:
  SignalsAndPipes() : query_(write_numbers(folder_ / "x.npy", {3, 4})) {
    const std::string ids = folder_.put("ids.json", "[1, 2]");
    const Words attend = {"attend", "--query", query_};
    const Words forward = {"forward", model_folders().gpt(), "--ids", ids, "--targets", ids};
    const Words explain = {"explain", "--text", "you", "--only", "1", "--format"};
    const std::string npy = fifo("f.npy"), tensors = fifo("f.safetensors"), page = fifo("f");
    writing_ = {attend + Words{"--out", npy},
                attend + Words{"--trace", tensors},
                attend + Words{"--grad-out", query_, "--grads", tensors},
                forward + Words{"--logits", npy},
                forward + Words{"--trace", tensors},
                forward + Words{"--grads", tensors},
                explain + Words{"text", "--out", page},
                explain + Words{"json", "--out", page},
                explain + Words{"html", "--out", page},
                explain + Words{"safetensors", "--out", tensors}};
  }

  std::string query_;
  std::vector<Words> writing_;  // each to a pipe, its last word
};

TEST_F(SignalsAndPipes, end_what_writes_to_a_pipe_that_nobody_reads) {
  for (const Words& words : writing_) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      SCOPED_TRACE(words[0] + " " + words[words.size() - 2] + " " + std::to_string(signal));
      Program program(words);
      ASSERT_TRUE(program.wait_until_blocked());
      ASSERT_TRUE(program.send(signal));
      EXPECT_EQ(program.finish().code, 128 + signal);
    }
  }
}

TEST_F(SignalsAndPipes, end_what_writes_to_a_pipe_whose_reader_has_stopped) {
  const std::string large = write_numbers(folder_ / "large.npy", {512, 64});
  Program program({"attend", "--query", large, "--trace", folder_ / "f.safetensors"});
  const int reader = open((folder_ / "f.safetensors").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_TRUE(program.wait_until_blocked());
  ASSERT_TRUE(program.send(SIGTERM));
  EXPECT_EQ(program.finish().code, 128 + SIGTERM);
  close(reader);
}

TEST_F(SignalsAndPipes, leave_what_is_read_from_a_pipe_whole) {
  for (const Words& words : writing_) {
    const std::string& path = words.back();
    SCOPED_TRACE(words[0] + " " + path);
    const std::string ending = path.substr(path.rfind('/') + 2);
    Words to_file = words;
    to_file.back() = folder_ / "plain" + ending;
    ASSERT_EQ(run_program(to_file).code, 0);
    Program program(words);
    std::string bytes;
    {
      std::ifstream pipe(path, std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(pipe), {});
    }
    EXPECT_EQ(program.finish().code, 0);
    EXPECT_TRUE(bytes == folder_.get("plain" + ending));
    EXPECT_TRUE(fs::is_fifo(path));
  }
}

TEST_F(SignalsAndPipes, read_no_pipe_where_a_file_is_needed_and_do_not_wait_for_one) {
  const std::string model = model_folders().gpt();
  const std::string npy = folder_ / "f.npy", text = folder_ / "f";
  for (const Words& words :
       {Words{"attend", "--query", npy},
        {"attend", "--query", query_, "--keep-mask", npy},
        {"forward", model, "--ids", npy},
        {"generate", model, "--prompt-file", text},
        {"evaluate", model, "--data", text},
        {"tokenize", text, "--text", "a"},
        {"explain", "--text", "you", "--sentences", text},
        {"train", "--task", "lm", "--data", text, "--out", folder_ / "run"},
        {"train", "--task", "copy", "--config", text, "--out", folder_ / "run"}}) {
    SCOPED_TRACE(words[0] + " " + words[words.size() - 2]);
    expect_one_line(run_program(words, {.input_path = "/dev/null"}), 3, "it is a pipe");
  }
}

// At any moment of the writing, a second signal included.
TEST_F(Signals, leave_a_whole_file_or_none) {
  const std::string query = write_numbers(folder_ / "x.npy", {768, 64});
  fs::create_directory(folder_ / "out");
  const Words words = {"attend", "--query", query, "--trace", folder_ / "out/t.safetensors"};
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(run_program(words).code, 0);
  const auto whole = std::chrono::steady_clock::now() - start;
  const uintmax_t size = fs::file_size(folder_ / "out/t.safetensors");
  constexpr int kTimes = 24;
  for (int i = 0; i < kTimes; ++i) {
    fs::remove(folder_ / "out/t.safetensors");
    Program program(words);
    std::this_thread::sleep_for(whole * i / kTimes);
    const int signal = i % 2 == 0 ? SIGINT : SIGHUP;
    kill(program.id(), signal);
    if (i % 3 == 0) kill(program.id(), SIGTERM);
    const int code = program.finish().code;
    EXPECT_TRUE(code == 0 || code > 128 || code < 0) << code;  // < 0: before main()
    for (const auto& entry : fs::directory_iterator(folder_ / "out")) {
      EXPECT_EQ(entry.path().filename(), "t.safetensors");
      EXPECT_EQ(entry.file_size(), size);
    }
  }
}

// The file is removed when a signal does not wait for it.
TEST_F(Signals, that_do_not_wait_remove_what_is_half_made) {
  const std::string query = write_numbers(folder_ / "x.npy", {1500, 64});
  fs::create_directory(folder_ / "out");
  Program program({"attend", "--query", query, "--trace", folder_ / "out/t.safetensors"});
  while (fs::is_empty(folder_ / "out")) pause(milliseconds(1));
  kill(program.id(), SIGSTOP);
  kill(program.id(), SIGINT);
  kill(program.id(), SIGCONT);
  pause(milliseconds(1));
  kill(program.id(), SIGSTOP);
  pause(milliseconds(1100));
  kill(program.id(), SIGTERM);
  kill(program.id(), SIGCONT);
  EXPECT_GT(program.finish().code, 128);
  for (const auto& entry : fs::directory_iterator(folder_ / "out"))
    EXPECT_EQ(entry.path().filename(), "t.safetensors");
}

}  // namespace
}  // namespace headlight::test
