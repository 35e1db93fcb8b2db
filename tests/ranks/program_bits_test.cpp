// What is trained does not depend on the number of ranks and threads.
#include <gtest/gtest.h>

#include "headlight/io/io.h"
#include "tests/ranks/program_runs.h"

namespace headlight::test {
namespace {

struct Shape {
  int ranks;
  int threads;
};

class BitsOnRanks : public ProgramOnRanks {
 protected:
  // The same run on one machine, then on ranks.
  void expect_same_bits(const std::string& name, const Words& training,
                        const std::vector<Shape>& shapes) {
    const std::string whole = folder_ / (name + "-alone");
    const ProcessRun alone = run_alone(training + into(whole) + Words{"--shards", "8"});
    ASSERT_EQ(alone.code, 0) << alone.errors;
    const TrainedFiles expected = trained_files(whole);
    for (const Shape& shape : shapes) {
      const std::string called =
          name + "-" + std::to_string(shape.ranks) + "x" + std::to_string(shape.threads);
      SCOPED_TRACE(called);
      const ProcessRun run = run_on(shape.ranks, training + into(folder_ / called, shape.threads));
      EXPECT_EQ(run.code, 0) << run.errors;
      expect_whole_run(folder_ / called, expected);
    }
  }

  // Of a run into folder_/ranks whose start names it; returns the command.
  std::string expect_same_bits_of_named_command(const ProcessRun& run, int shards) {
    EXPECT_EQ(run.code, 0) << run.errors;
    const io::Json start = io::parse_json(run.output.substr(0, run.output.find('\n')), "start");
    if (start.find("same_bytes") == nullptr) {
      ADD_FAILURE() << run.output;
      return "";
    }
    EXPECT_EQ(start.find("shards")->integer(), shards);
    EXPECT_EQ(start.find("ranks")->integer(), 2);
    const std::string named = *start.find("same_bytes")->text();
    std::string command = named;
    const auto replace = [&](const std::string& old, const std::string& by) {
      const size_t at = command.find(old);
      ASSERT_NE(at, std::string::npos) << old << " is not in " << command;
      command.replace(at, old.size(), by);
    };
    replace(folder_ / "ranks", folder_ / "alone");
    replace("headlight", launched_program());
    Process process({"sh", "-c", command});
    EXPECT_EQ(process.finish().code, 0);
    expect_same_files(folder_ / "alone", trained_files(folder_ / "ranks"));
    return named;
  }

  const TemporaryFolder folder_;
};
using LongBitsOnRanks = BitsOnRanks;

TEST_F(BitsOnRanks, of_a_gpt_are_those_of_one_machine) {
  expect_same_bits("gpt", small_gpt(folder_), {{1, 1}, {2, 2}, {8, 1}});
}

TEST_F(BitsOnRanks, of_a_llama_are_those_of_one_machine) {
  expect_same_bits("llama", small_llama(folder_), {{1, 2}, {2, 1}, {4, 2}, {8, 1}});
}

TEST_F(BitsOnRanks, of_an_encoder_are_those_of_one_machine) {
  expect_same_bits("encoder", small_encoder(folder_), {{2, 2}, {8, 1}});
}

TEST_F(BitsOnRanks, of_an_encoder_decoder_are_those_of_one_machine) {
  expect_same_bits("reverser", small_reverser(), {{4, 1}});
}

TEST_F(LongBitsOnRanks, are_those_of_one_machine_on_any_number_of_ranks_and_threads) {
  const std::vector<Shape> all = {{1, 1}, {2, 1}, {4, 1}, {8, 1}, {1, 2}, {2, 2}, {4, 2}, {8, 2}};
  expect_same_bits("gpt", small_gpt(folder_), all);
  expect_same_bits("llama", small_llama(folder_), all);
  expect_same_bits("encoder", small_encoder(folder_), all);
  expect_same_bits("t5", small_reverser() + Words{"--arch", "t5"}, all);
  expect_same_bits("reverser", small_reverser(), all);
  expect_same_bits("translator", small_translator(folder_), all);
}

// Fewer sequences in a step than shards: some ranks have none.
TEST_F(LongBitsOnRanks, are_those_of_one_machine_where_ranks_have_nothing_to_do) {
  expect_same_bits("few", small_gpt(folder_, 20, 1), {{2, 1}, {4, 2}, {8, 1}});
}

TEST_F(BitsOnRanks, are_those_of_the_command_that_the_start_names) {
  const ProcessRun run = run_on(2, small_reverser() + Words{"--json"} + into(folder_ / "ranks"));
  const std::string command = expect_same_bits_of_named_command(run, 8);
  EXPECT_TRUE(command.starts_with("headlight train ")) << command;
}

TEST_F(BitsOnRanks, are_those_of_the_command_that_the_start_names_where_options_have_an_end) {
  const ProcessRun run =
      run_on(2, small_reverser() + Words{"--json"} + into(folder_ / "ranks") + Words{"--"});
  const std::string command = expect_same_bits_of_named_command(run, 8);
  EXPECT_TRUE(command.ends_with(" --shards 8 --")) << command;
}

// A shell does not know what mpirun has set for the ranks.
TEST_F(BitsOnRanks, are_those_of_the_command_that_the_start_names_with_variables) {
  const ProcessRun run = run_ranks(
      Words{launched_program()} + small_reverser() + Words{"--json"} + into(folder_ / "ranks"),
      {.ranks = 2, .set = {"HEADLIGHT_SHARDS=4", "HEADLIGHT_SIMD=scalar", "HEADLIGHT_SEED=3"}});
  const std::string command = expect_same_bits_of_named_command(run, 4);
  EXPECT_NE(command.find("HEADLIGHT_SIMD=scalar "), std::string::npos) << command;
}

TEST_F(BitsOnRanks, with_one_shard_are_those_of_a_run_without_a_launcher) {
  const Words training = small_gpt(folder_);
  ASSERT_EQ(run_alone(training + into(folder_ / "plain")).code, 0);
  const ProcessRun run = run_on(1, training + into(folder_ / "one") + Words{"--shards", "1"});
  ASSERT_EQ(run.code, 0) << run.errors;
  expect_same_files(folder_ / "one", trained_files(folder_ / "plain"));
  // Eight shards are another order of adding up.
  ASSERT_EQ(run_on(1, training + into(folder_ / "eight")).code, 0);
  EXPECT_NE(trained_files(folder_ / "eight").weights, trained_files(folder_ / "plain").weights);
}

}  // namespace
}  // namespace headlight::test
