// The program under mpirun: small runs of training, what they leave, and what they say.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/base/temporary_folder.h"
#include "tests/ranks/launched_ranks.h"

namespace headlight::test {

using Words = std::vector<std::string>;

inline Words operator+(Words words, const Words& others) {
  words.insert(words.end(), others.begin(), others.end());
  return words;
}

// For what takes a moment, on a busy machine.
constexpr Milliseconds kPatience(30'000);

// The environment's HEADLIGHT_PROGRAM, or the one of this build.
std::string launched_program();
// The shared object that stops a rank before a file operation; empty where it was not built.
std::string file_trap();

// Tests that start the program as ranks; skipped where that is not possible.
class ProgramOnRanks : public testing::Test {
 protected:
  void SetUp() override;
};
class ProgramOnHosts : public ProgramOnRanks {
 protected:
  void SetUp() override;
};

// A GPT, a Llama or an encoder on a small text, and encoder-decoders: each with dropout,
// accumulation, clipping and label smoothing, and batches that 8 shards do not divide. They are
// saved every ten steps. What they read is put into the folder.
Words small_gpt(const TemporaryFolder& data, int64_t steps = 20, int batches = 2);
Words small_llama(const TemporaryFolder& data, int64_t steps = 20);
Words small_encoder(const TemporaryFolder& data, int64_t steps = 20);
Words small_reverser(int64_t steps = 20);
Words small_translator(const TemporaryFolder& data, int64_t steps = 20);
// --out and --threads.
Words into(const std::string& folder, int threads = 1);

// The program alone, and on so many ranks.
ProcessRun run_alone(const Words& arguments, const std::vector<std::string>& set = {});
ProcessRun run_on(int ranks, const Words& arguments, const TestHosts* hosts = nullptr);

// Ranks whose launcher has no words of its own for what they do.
RankOptions quiet_ranks(int ranks, const Words& launcher_options = {});

// Every byte that must not depend on who trained: the best model and all that a run goes on from.
struct TrainedFiles {
  std::string best, weights, moments, manifest;
  bool operator==(const TrainedFiles&) const = default;
};
TrainedFiles trained_files(const std::string& folder, int64_t steps = 20);
void expect_same_files(const std::string& folder, const TrainedFiles& expected, int64_t steps = 20);
// These files, no others, and a log without gaps or repetitions.
void expect_whole_run(const std::string& folder, const TrainedFiles& expected, int64_t steps = 20);
// Names of temporary files in it.
std::set<std::string> half_written_files(const std::string& folder);
void expect_nothing_half_written(const std::string& folder);
// Of the last checkpoint; 0: there is none.
int64_t saved_step(const std::string& folder);

// Those of ours on standard error, without mpirun's.
std::vector<std::string> own_lines(const std::string& errors);
void expect_one_line(const ProcessRun& run, int code, const std::string& part);

}  // namespace headlight::test
