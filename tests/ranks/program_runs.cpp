// Small runs, and looking at what they leave.
#include "tests/ranks/program_runs.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "headlight/base/base.h"
#include "headlight/io/io.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Sentences of a few words, the same at every call.
std::string small_text() {
  const std::vector<std::string> words = {"the",   "tree",  "river", "sees",  "a",
                                          "stone", "under", "old",   "light", "house"};
  const base::Random random(7);
  std::string text;
  for (uint64_t i = 0; i < 600; ++i) {
    text += words[static_cast<size_t>(random.uniform64(i) * static_cast<double>(words.size()))];
    text += i % 9 == 8 ? ".\n" : " ";
  }
  return text;
}

// Tab-separated pairs: words, and their letters in capitals.
std::string small_pairs() {
  std::istringstream lines(small_text());
  std::string pairs;
  for (std::string line; std::getline(lines, line);) {
    std::string other = line;
    for (char& letter : other) letter = static_cast<char>(std::toupper(letter));
    pairs += line.substr(0, 20) + "\t" + other.substr(0, 20) + "\n";
  }
  return pairs;
}

}  // namespace

std::string launched_program() {
  const char* other = std::getenv("HEADLIGHT_PROGRAM");
  return other != nullptr ? other : HEADLIGHT_PROGRAM;
}

std::string file_trap() { return HEADLIGHT_FILE_TRAP; }

void ProgramOnRanks::SetUp() {
  if (const std::string why = LaunchedRanks::reason_not_possible(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const fs::path library = fs::path(launched_program()).parent_path() / "libheadlight_mpi.so";
  if (!fs::exists(library)) GTEST_SKIP() << "MPI was not found when the program was built";
}

void ProgramOnHosts::SetUp() {
  ProgramOnRanks::SetUp();
  if (IsSkipped()) return;
  if (const std::string why = TestHosts::reason_not_possible(); !why.empty()) GTEST_SKIP() << why;
}

namespace {

Words with_everything(int64_t steps) {
  return {"--n_head",          "2",    "--n_embd",         "16",
          "--dropout",         "0.1",  "--grad_clip",      "0.5",
          "--label_smoothing", "0.1",  "--max_iters",      std::to_string(steps),
          "--eval_interval",   "10",   "--warmup_iters",   "5",
          "--learning_rate",   "1e-2", "--lr_decay_iters", "200"};
}

}  // namespace

Words small_gpt(const TemporaryFolder& data, int64_t steps, int batches) {
  if (!fs::exists(data / "text.txt")) data.put("text.txt", small_text());
  return Words{"train",
               "--task",
               "lm",
               "--data",
               data / "text.txt",
               "--tokenizer",
               "char",
               "--n_layer",
               "1",
               "--batch_size",
               "5",
               "--block_size",
               "16",
               "--gradient_accumulation_steps",
               std::to_string(batches)} +
         with_everything(steps);
}

Words small_llama(const TemporaryFolder& data, int64_t steps) {
  return small_gpt(data, steps) + Words{"--arch", "llama", "--n_kv_head", "1"};
}

Words small_encoder(const TemporaryFolder& data, int64_t steps) {
  Words words = small_gpt(data, steps) + Words{"--arch", "modernbert", "--sliding_window", "6"};
  *std::ranges::find(words, "lm") = "mlm";
  return words;
}

Words small_reverser(int64_t steps) {
  return Words{"train", "--task",       "reverse", "--n_layer",
               "1",     "--batch_size", "6",       "--gradient_accumulation_steps",
               "2"} +
         with_everything(steps);
}

Words small_translator(const TemporaryFolder& data, int64_t steps) {
  if (!fs::exists(data / "pairs.tsv")) data.put("pairs.tsv", small_pairs());
  return Words{"train",
               "--task",
               "translate",
               "--data",
               data / "pairs.tsv",
               "--tokenizer",
               "char",
               "--n_layer",
               "1",
               "--batch_size",
               "7",
               "--gradient_accumulation_steps",
               "3"} +
         with_everything(steps);
}

Words into(const std::string& folder, int threads) {
  return {"--out", folder, "--threads", std::to_string(threads)};
}

ProcessRun run_alone(const Words& arguments, const std::vector<std::string>& set) {
  Process process(Words{launched_program()} + arguments, set);
  return process.finish();
}

RankOptions quiet_ranks(int ranks, const Words& launcher_options) {
  return {.ranks = ranks, .launcher_options = Words{"-q"} + launcher_options};
}

ProcessRun run_on(int ranks, const Words& arguments, const TestHosts* hosts) {
  return run_ranks(Words{launched_program()} + arguments, {.ranks = ranks}, hosts);
}

TrainedFiles trained_files(const std::string& folder, int64_t steps) {
  const std::string number = std::to_string(steps);
  return {.best = content_of(folder + "/model.safetensors"),
          .weights = content_of(folder + "/checkpoint/model-" + number + ".safetensors"),
          .moments = content_of(folder + "/checkpoint/optimizer-" + number + ".safetensors"),
          .manifest = content_of(folder + "/checkpoint/manifest.json")};
}

void expect_same_files(const std::string& folder, const TrainedFiles& expected, int64_t steps) {
  const TrainedFiles files = trained_files(folder, steps);
  EXPECT_FALSE(files.moments.empty()) << "no checkpoint at " << steps << " in " << folder;
  EXPECT_TRUE(files.best == expected.best) << "the best model differs";
  EXPECT_TRUE(files.weights == expected.weights) << "the weights differ";
  EXPECT_TRUE(files.moments == expected.moments) << "the optimizer's state differs";
  EXPECT_EQ(files.manifest, expected.manifest);
}

int64_t saved_step(const std::string& folder) {
  const std::string text = content_of(folder + "/checkpoint/manifest.json");
  return text.empty() ? 0 : *io::parse_json(text, "manifest").find("step")->integer();
}

std::set<std::string> half_written_files(const std::string& folder) {
  std::set<std::string> names;
  if (!fs::exists(folder)) return names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (base::is_temporary(name)) names.insert(name);
  }
  return names;
}

void expect_nothing_half_written(const std::string& folder) {
  EXPECT_TRUE(half_written_files(folder).empty())
      << testing::PrintToString(half_written_files(folder));
}

void expect_whole_run(const std::string& folder, const TrainedFiles& expected, int64_t steps) {
  expect_same_files(folder, expected, steps);
  expect_nothing_half_written(folder);
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder + "/checkpoint")) {
    EXPECT_TRUE(entry.is_regular_file());
    ++files;
  }
  EXPECT_EQ(files, 3u) << "a checkpoint is its weights, moments and manifest";
  std::vector<int64_t> logged, wanted;
  for (int64_t step = 10; step <= steps; step += 10) wanted.push_back(step);
  std::istringstream log(content_of(folder + "/log.jsonl"));
  for (std::string line; std::getline(log, line);) {
    const io::Json event = io::parse_json(line, "log");
    if (*event.find("event")->text() == "step") logged.push_back(*event.find("step")->integer());
  }
  EXPECT_EQ(logged, wanted);
}

std::vector<std::string> own_lines(const std::string& errors) {
  std::istringstream lines(errors);
  std::vector<std::string> result;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("headlight: ")) result.push_back(line);
  }
  return result;
}

void expect_one_line(const ProcessRun& run, int code, const std::string& part) {
  EXPECT_FALSE(run.timed_out) << run.errors;
  EXPECT_EQ(run.code, code) << run.errors;
  EXPECT_EQ(run.output, "");
  const std::vector<std::string> lines = own_lines(run.errors);
  ASSERT_EQ(lines.size(), 1u) << run.errors;
  EXPECT_EQ(run.errors, lines.front() + "\n");
  EXPECT_NE(lines.front().find(part), std::string::npos)
      << "in: " << lines.front() << "\nnot found: " << part;
}

}  // namespace headlight::test
