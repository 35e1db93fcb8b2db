// Trainings that start together: each in its folder, and only one in a folder.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "headlight/base/base.h"
#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

using Programs = std::vector<std::unique_ptr<Program>>;

TEST(TrainingsTogether, do_not_meet_in_the_folders_above_theirs) {
  const TemporaryFolder folder;
  std::vector<std::string> folders;
  for (int i = 0; i < 12; ++i) {
    const std::string number = std::to_string(i);
    folders.push_back(folder / ("runs/" + number));
    folders.push_back(folder / ("deep/er/runs/" + number + "/run"));
    folders.push_back(folder / number);
  }
  Programs programs;
  for (const std::string& place : folders)
    programs.push_back(std::make_unique<Program>(small_copy(place, 2) + Words{"--threads", "1"}));
  for (const auto& program : programs) {
    const ProgramRun run = program->finish();
    EXPECT_EQ(run.code, 0) << run.errors;
  }
  for (const std::string& place : folders)
    EXPECT_TRUE(fs::exists(place + "/model.safetensors")) << place;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
    EXPECT_FALSE(base::is_temporary(entry.path().filename().string())) << entry.path();
}

TEST(TrainingsTogether, in_a_folder_are_one_and_the_others_are_told) {
  for (int round = 0; round < 6; ++round) {
    const TemporaryFolder folder;
    const Words resume = round % 2 == 0 ? Words{} : Words{"--resume"};
    Programs programs;
    for (int i = 0; i < 6; ++i) {
      programs.push_back(
          std::make_unique<Program>(small_copy(folder / "new/run") + resume +
                                    Words{"--seed", std::to_string(i), "--threads", "1"}));
    }
    int trained = 0;
    std::string seed;
    for (size_t i = 0; i < programs.size(); ++i) {
      const ProgramRun run = programs[i]->finish();
      if (run.code == 0) {
        ++trained;
        seed = std::to_string(i);
      } else {
        EXPECT_TRUE(run.code == 1 || run.code == 3) << run.code;
        expect_one_line(run, run.code, folder / "new/run");
      }
    }
    EXPECT_EQ(trained, 1);
    const io::Json made = io::parse_json(folder.get("new/run/run.json"), "run.json");
    EXPECT_EQ(io::json_text(*made.find("seed")), seed) << "nobody else has written there";
    const ProgramRun on =
        run_program({"train", "--out", folder / "new/run", "--resume", "--max_iters", "50"});
    EXPECT_EQ(on.code, 0) << on.errors;
  }
}

// Somebody looks into a model while it is trained, and keeps what was seen beside it.
TEST(TrainingsTogether, leave_the_files_that_others_are_writing) {
  const TemporaryFolder folder;
  const std::string other = "/.headlight-" + std::to_string(getppid()) + "-1-0.tmp";
  fs::create_directories(folder / "run");
  folder.put("run" + other, "half");
  folder.put("run/.headlight-999999999-1-0.tmp", "nobody's");
  const ProgramRun run = run_program(small_copy(folder / "run", 20) + Words{"--resume"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(folder.get("run" + other), "half");
  EXPECT_FALSE(fs::exists(folder / "run/.headlight-999999999-1-0.tmp"));
}

}  // namespace
}  // namespace headlight::test
