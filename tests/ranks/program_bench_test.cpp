// `headlight bench --only mpi` on ranks: that it measures and says so; how fast it is, is not a
// test's business.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "headlight/io/io.h"
#include "tests/ranks/launched_ranks.h"

namespace headlight::test {
namespace {

#ifdef HEADLIGHT_PROGRAM_ON_RANKS
const std::string kProgram = HEADLIGHT_PROGRAM_ON_RANKS;
#else
const std::string kProgram;
#endif

class BenchOnRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (kProgram.empty()) GTEST_SKIP() << "MPI was not found when the tests were built";
    if (const std::string why = LaunchedRanks::reason_not_possible(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }

  static ProcessRun bench(int ranks, std::vector<std::string> words) {
    words.insert(words.begin(), {kProgram, "bench", "--quick", "--threads", "1"});
    return run_ranks(words, {.ranks = ranks, .launcher_options = {"-q"}});
  }

  static void expect_refused(const ProcessRun& run, const std::string& line) {
    EXPECT_EQ(run.code, 2) << run.errors;
    EXPECT_EQ(run.output, "");
    EXPECT_NE(run.errors.find("headlight: " + line), std::string::npos) << run.errors;
    EXPECT_EQ(std::ranges::count(run.errors, '\n'), 1) << run.errors;
  }
};

double number(const io::Json& value, const char* key) {
  const io::Json* found = value.find(key);
  return found == nullptr ? -1 : found->number().value_or(-1);
}

// Unbound ranks see all cores, which they share.
TEST_F(BenchOnRanks, take_their_part_of_the_cores_where_nobody_says_how_many) {
  const ProcessRun run =
      run_ranks({kProgram, "bench", "--quick", "--only", "mpi-exchange", "--json"},
                {.ranks = 2, .launcher_options = {"-q"}});
  ASSERT_EQ(run.code, 0) << run.errors;
  const auto cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const io::Json document = io::parse_json(run.output, "bench");
  EXPECT_EQ(number(*document.find("machine"), "threads"), std::max(1, cores / 2));
}

TEST_F(BenchOnRanks, gives_what_lies_between_them_and_the_steps_they_share) {
  const ProcessRun run = bench(2, {"--only", "mpi-train-nanogpt-12x64", "--json"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.errors, "");
  const io::Json document = io::parse_json(run.output, "bench");
  EXPECT_EQ(number(document, "ranks"), 2);
  EXPECT_EQ(number(document, "shards"), 8);
  const io::Json& exchange = *document.find("exchange");
  EXPECT_GT(number(exchange, "latency_seconds"), 0);
  EXPECT_GT(number(exchange, "reduce_scatter_bytes_per_second"), 0);
  EXPECT_GT(number(exchange, "all_gather_bytes_per_second"), 0);
  const io::Json::Array& work = *document.find("work")->array();
  ASSERT_EQ(work.size(), 1U);
  EXPECT_EQ(number(work[0], "parameters"), 804'096);
  EXPECT_LE(number(work[0], "best_seconds"), number(work[0], "median_seconds"));
  const io::Json::Array& waiting = *work[0].find("waiting_shares")->array();
  const io::Json::Array& peak = *work[0].find("peak_bytes")->array();
  ASSERT_EQ(waiting.size(), 2U);
  ASSERT_EQ(peak.size(), 2U);
  for (size_t rank = 0; rank < 2; ++rank) {
    EXPECT_GT(waiting[rank].number().value_or(-1), 0);
    EXPECT_LT(waiting[rank].number().value_or(2), 1);
    EXPECT_GT(peak[rank].number().value_or(0), 4 * 804'096);
  }
}

TEST_F(BenchOnRanks, prints_one_table) {
  const ProcessRun run = bench(2, {"--only", "mpi-exchange", "--shards", "2"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_NE(run.output.find("ranks    2; shards of a step: 2\n"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("GB/s adding up"), std::string::npos) << run.output;
  EXPECT_EQ(run.output.find("machine"), run.output.rfind("machine")) << run.output;
}

TEST_F(BenchOnRanks, measures_a_single_one_without_an_exchange) {
  const ProcessRun run = bench(1, {"--only", "mpi-train-nanogpt-12x64", "--shards", "1", "--json"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const io::Json document = io::parse_json(run.output, "bench");
  EXPECT_EQ(io::json_text(*document.find("exchange")), "null");
  const io::Json::Array& work = *document.find("work")->array();
  ASSERT_EQ(work.size(), 1U);
  EXPECT_EQ(io::json_text(*work[0].find("waiting_shares")), "[0.0]");
}

TEST_F(BenchOnRanks, refuses_what_is_measured_alone) {
  expect_refused(bench(2, {}), "bench (2 ranks): on several ranks only --only mpi is measured");
  expect_refused(bench(2, {"--only", "matmul"}), "bench (2 ranks): on several ranks");
}

TEST_F(BenchOnRanks, refuses_shards_that_ranks_cannot_share) {
  expect_refused(bench(2, {"--only", "mpi", "--shards", "1"}), "--shards (1): there are 2 ranks");
  expect_refused(bench(1, {"--only", "mpi", "--shards", "6"}),
                 "--shards (6): it must be a power of two");
}

}  // namespace
}  // namespace headlight::test
