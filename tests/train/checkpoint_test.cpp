// Checkpoints under faults, kills and damage.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>

#include "tests/base/faulty_files.h"
#include "tests/base/temporary_folder.h"
#include "tests/train/support.h"

namespace headlight::train {
namespace {

using base::Error;
using base::ErrorKind;
using test::FaultyFiles;
using test::TemporaryFolder;
namespace fs = std::filesystem;

std::string restored(const std::string& folder) {
  SmallRun run;
  return Checkpoints(base::real_files(), folder).restore(run.trainer) ? bits_of(run.trainer) : "";
}

// A folder with the checkpoint of an evaluated step, and the run further on, not yet saved.
class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() {
    advance(3);
    Checkpoints(files_, first_.path()).save(run_.trainer);
    before_ = bits_of(run_.trainer);
    advance(2);
    after_ = bits_of(run_.trainer);
  }

  void advance(int steps) {
    run_.steps(steps);
    run_.trainer.evaluate();
  }
  // A folder as it was when the first checkpoint was in it.
  void copy_first(const TemporaryFolder& folder) const {
    fs::copy(first_.path(), folder.path(), fs::copy_options::recursive);
  }
  int operations_of_a_save() {
    const TemporaryFolder folder;
    copy_first(folder);
    FaultyFiles files;
    Checkpoints(files, folder.path()).save(run_.trainer);
    return files.operations();
  }
  void save_with_fault(int operation, int number) {
    SCOPED_TRACE("errno " + std::to_string(number) + " at " + std::to_string(operation));
    const TemporaryFolder folder;
    copy_first(folder);
    FaultyFiles files;
    files.fail(operation, number);
    Checkpoints checkpoints(files, folder.path());
    bool failed = false;
    try {
      checkpoints.save(run_.trainer);
    } catch (const Error& error) {
      failed = true;
      EXPECT_EQ(error.kind(), number == ENOSPC ? ErrorKind::out_of_memory : ErrorKind::failed)
          << error.what();
    }
    const std::string left = restored(folder.path());
    EXPECT_TRUE(left == after_ || (failed && left == before_));
    checkpoints.save(run_.trainer);
    EXPECT_EQ(restored(folder.path()), after_);
    EXPECT_EQ(files_in(folder / "checkpoint"), 3);
  }
  // The process ends in the middle of a save; there is no chance to clean up. Whether the new
  // checkpoint counts.
  bool is_saved_when_killed(int operation) {
    SCOPED_TRACE(operation);
    const TemporaryFolder folder;
    copy_first(folder);
    const pid_t child = fork();
    if (child == 0) {
      FaultyFiles files;
      files.fail(operation, FaultyFiles::kKilled);
      Checkpoints(files, folder.path()).save(run_.trainer);
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const std::string left = restored(folder.path());
    EXPECT_TRUE(left == before_ || left == after_);
    EXPECT_EQ(files_in(folder / "checkpoint"), 3);  // what was half written is cleared away
    for (const auto& entry : fs::directory_iterator(folder.path()))
      EXPECT_FALSE(base::is_temporary(entry.path().filename().string())) << entry.path();
    return left == after_;
  }
  // Every `stride`th operation.
  void expect_previous_or_next_after_kills(int stride) {
    const int count = operations_of_a_save();
    bool is_saved = false;
    for (int operation = 0; operation < count; operation += stride) {
      const bool now = is_saved_when_killed(operation);
      EXPECT_TRUE(now || !is_saved) << operation;  // from one moment on it is
      is_saved = now;
    }
    EXPECT_FALSE(is_saved_when_killed(0));
    EXPECT_TRUE(is_saved_when_killed(count - 1));
  }

  static int files_in(const std::string& folder) {
    return static_cast<int>(std::distance(fs::directory_iterator(folder), {}));
  }

  FaultyFiles files_;  // which never fail, and are fast
  SmallRun run_;
  TemporaryFolder first_;
  std::string before_, after_;
};

TEST_F(CheckpointTest, restore_the_bits_that_were_saved) {
  EXPECT_NE(before_, after_);
  EXPECT_EQ(restored(first_.path()), before_);
  Checkpoints(files_, first_.path()).save(run_.trainer);
  EXPECT_EQ(restored(first_.path()), after_);
  EXPECT_EQ(files_in(first_ / "checkpoint"), 3);  // those of the step before are gone
}

TEST_F(CheckpointTest, of_an_empty_folder_are_none) {
  const TemporaryFolder folder;
  EXPECT_EQ(restored(folder.path()), "");
  EXPECT_EQ(restored(folder / "missing"), "");
}

TEST_F(CheckpointTest, go_on_as_if_nothing_had_been) {
  SmallRun resumed;
  ASSERT_TRUE(Checkpoints(base::real_files(), first_.path()).restore(resumed.trainer));
  resumed.steps(2);
  resumed.trainer.evaluate();
  EXPECT_EQ(bits_of(resumed.trainer), after_);
}

TEST_F(CheckpointTest, lose_nothing_when_a_save_fails) {
  const int count = operations_of_a_save();
  ASSERT_GT(count, 30);
  for (int operation = 0; operation < count; operation += 4)
    save_with_fault(operation, operation % 8 == 0 ? EIO : ENOSPC);
}

TEST_F(CheckpointTest, are_the_previous_or_the_next_after_a_kill) {
  expect_previous_or_next_after_kills(5);
}

using LongCheckpointTest = CheckpointTest;

TEST_F(LongCheckpointTest, lose_nothing_whatever_fails_in_a_save) {
  const int count = operations_of_a_save();
  for (int operation = 0; operation < count; ++operation) {
    save_with_fault(operation, EIO);
    save_with_fault(operation, ENOSPC);
  }
}

TEST_F(LongCheckpointTest, are_the_previous_or_the_next_after_a_kill_at_any_operation) {
  expect_previous_or_next_after_kills(1);
}

TEST_F(CheckpointTest, lose_nothing_when_reading_them_fails) {
  FaultyFiles counting;
  SmallRun run;
  ASSERT_TRUE(Checkpoints(counting, first_.path()).restore(run.trainer));
  for (int operation = 0; operation < counting.operations(); ++operation) {
    SCOPED_TRACE(operation);
    FaultyFiles files;
    files.fail(operation, EIO);
    SmallRun again;
    try {
      // Taking an unreadable checkpoint for none would start the run anew, over the old one.
      EXPECT_TRUE(Checkpoints(files, first_.path()).restore(again.trainer));
      EXPECT_EQ(bits_of(again.trainer), before_);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("error"), std::string::npos) << error.what();
    }
    EXPECT_EQ(restored(first_.path()), before_);
  }
}

class OrderedFiles : public FaultyFiles {
 public:
  struct Renaming {
    size_t place;  // in the log
    std::string name;
  };
  int rename(const std::string& from, const std::string& to) override {
    renamings.push_back({log().size(), to.substr(to.rfind('/') + 1)});
    return FaultyFiles::rename(from, to);
  }
  std::vector<Renaming> renamings;
};

TEST_F(CheckpointTest, are_written_in_an_order_that_survives_a_crash) {
  OrderedFiles files;
  Checkpoints(files, first_.path()).save(run_.trainer);
  std::vector<std::string> names;
  for (const auto& [place, name] : files.renamings) {
    names.push_back(name);
    // Written, synced, closed, renamed, and the folder is synced.
    const auto& log = files.log();
    ASSERT_GE(place, 3u);
    EXPECT_EQ(log[place - 3], "write temporary");
    EXPECT_EQ(log[place - 2], "sync temporary");
    EXPECT_EQ(log[place - 1], "close temporary");
    EXPECT_EQ(log[place + 1], "sync folder");
  }
  const std::vector<std::string> expected = {"model-5.safetensors", "optimizer-5.safetensors",
                                             "model.safetensors", "config.json", "manifest.json"};
  EXPECT_EQ(names, expected);
  const auto removal = std::ranges::find_if(
      files.log(), [](const std::string& entry) { return entry.starts_with("remove "); });
  ASSERT_NE(removal, files.log().end());
  EXPECT_GT(removal - files.log().begin(),
            static_cast<std::ptrdiff_t>(files.renamings.back().place + 1));
  EXPECT_TRUE(files.did("remove model-3.safetensors"));
  EXPECT_TRUE(files.did("remove optimizer-3.safetensors"));
}

TEST_F(CheckpointTest, make_their_folder_durable) {
  const TemporaryFolder folder;
  FaultyFiles files;
  Checkpoints(files, folder / "run").save(run_.trainer);
  const auto made = std::ranges::find(files.log(), "make_directory folder");
  ASSERT_NE(made, files.log().end());
  EXPECT_NE(std::ranges::find(made, files.log().end(), "sync folder"), files.log().end());
}

// The one line of the error that restoring gives.
std::string error_of_restoring(const std::string& folder, SmallRun& run) {
  try {
    Checkpoints(base::real_files(), folder).restore(run.trainer);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  return "nothing is wrong";
}

#define EXPECT_HAS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << (text) << "\nhas no: " << (part)

TEST_F(CheckpointTest, that_are_damaged_or_missing_say_so) {
  for (const std::string name : {"model-3.safetensors", "optimizer-3.safetensors"}) {
    const TemporaryFolder folder;
    copy_first(folder);
    SmallRun run;
    std::string bytes = folder.get("checkpoint/" + name);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    folder.put("checkpoint/" + name, bytes);
    EXPECT_HAS(error_of_restoring(folder.path(), run), name + "): is not the file that was saved");
    folder.put("checkpoint/" + name, bytes.substr(0, 20));
    EXPECT_HAS(error_of_restoring(folder.path(), run), "is not the file that was saved");
    fs::remove(folder / ("checkpoint/" + name));
    EXPECT_HAS(error_of_restoring(folder.path(), run), name + "): No such file");
  }
}

TEST_F(CheckpointTest, that_lost_their_manifest_are_not_taken_for_none) {
  SmallRun run;
  const TemporaryFolder folder;
  copy_first(folder);
  fs::remove(folder / "checkpoint/manifest.json");
  EXPECT_HAS(error_of_restoring(folder.path(), run), "manifest.json): is missing beside a trained");
  fs::remove(folder / "model.safetensors");
  EXPECT_HAS(error_of_restoring(folder.path(), run), "is missing beside a trained model");
  const TemporaryFolder other;
  copy_first(other);
  fs::remove_all(other / "checkpoint");
  EXPECT_HAS(error_of_restoring(other.path(), run), "is missing beside a trained model");
}

// A kill before the first manifest leaves models that nothing is lost with.
TEST_F(CheckpointTest, whose_first_save_was_killed_are_none) {
  const TemporaryFolder folder;
  copy_first(folder);
  fs::remove(folder / "checkpoint/manifest.json");
  Checkpoints(files_, folder.path()).begin();
  EXPECT_EQ(restored(folder.path()), "");
  EXPECT_FALSE(Checkpoints(files_, folder.path()).progress().has_value());
  Checkpoints(files_, folder.path()).save(run_.trainer);
  EXPECT_EQ(restored(folder.path()), after_);
  EXPECT_EQ(files_in(folder / "checkpoint"), 3);
}

TEST_F(CheckpointTest, with_a_wrong_manifest_say_what_is_wrong) {
  struct Wrong {
    std::string from, to, part;
  };
  const std::string manifest = first_.get("checkpoint/manifest.json");
  const std::vector<Wrong> cases = {
      {manifest, "", "manifest.json"},
      {manifest, "[]", "(version): is missing"},
      {manifest, manifest.substr(0, 40), "manifest.json"},
      {R"("version":1)", R"("version":2)", "is 2, this program reads 1"},
      {R"("version":1)", R"("version":"1")", "must be a whole number"},
      {R"("step":3)", R"("step":-3)", "(step): must be a whole number from 0 on"},
      {R"("step":3)", R"("step":3.5)", "(step): must be a whole number"},
      {R"("step":3)", R"("step":4)", "does not name model-4.safetensors"},
      {R"("step":3)", R"("Step":3)", "(step): is missing"},
      {R"("best_step":3)", R"("best_step":null)", "(best_step): must be"},
      {R"("best_valid_loss":)", R"("best_valid_loss":"x","y":)", "must be a number or null"},
      {R"("files":[)", R"("files":7,"others":[)", "does not name model-3.safetensors"},
      {R"("files":[)", R"("files":[7,null,)", "nothing is wrong"},
      {R"("xxh64":")", R"("xxh64":"0)", "is not the file that was saved"},
      {R"("xxh64":")", R"("xxh64":3,"y":")", "is not the file that was saved"}};
  for (const Wrong& wrong : cases) {
    SCOPED_TRACE(wrong.to);
    const TemporaryFolder folder;
    copy_first(folder);
    std::string text = manifest;
    ASSERT_NE(text.find(wrong.from), std::string::npos);
    folder.put("checkpoint/manifest.json",
               text.replace(text.find(wrong.from), wrong.from.size(), wrong.to));
    SmallRun run;
    EXPECT_HAS(error_of_restoring(folder.path(), run), wrong.part);
  }
}

TEST_F(CheckpointTest, of_another_model_or_optimizer_are_refused) {
  SmallRun wider(1, small_options(), 16);
  EXPECT_HAS(error_of_restoring(first_.path(), wider), "model-3.safetensors");
  TrainerOptions options = small_options();
  options.optimizer.kind = optim::OptimizerKind::sgd;
  SmallRun other(1, options);
  EXPECT_HAS(error_of_restoring(first_.path(), other), "exp_avg");
}

}  // namespace
}  // namespace headlight::train
