// `headlight bench`: that it measures and says so; how fast it is, is not a test's business.
#include <gtest/gtest.h>

#include "headlight/io/io.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

double number(const io::Json& value, const char* key) {
  const io::Json* found = value.find(key);
  return found == nullptr ? -1 : found->number().value_or(-1);
}

TEST(Bench, gives_limits_and_shares_of_them_as_json) {
  const ProgramRun run = run_program(
      {"bench", "--quick", "--only", "matmul-packed-16x768x2304", "--json", "--threads", "1"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.errors, "");
  const io::Json document = io::parse_json(run.output, "bench");
  EXPECT_EQ(number(*document.find("machine"), "threads"), 1);
  const io::Json& limits = *document.find("limits");
  EXPECT_GT(number(limits, "multiply_add_gflops"), 0);
  EXPECT_GT(number(limits, "read_gb_per_second"), 0);
  const io::Json::Array& work = *document.find("work")->array();
  ASSERT_EQ(work.size(), 1u);
  EXPECT_EQ(number(work[0], "operations"), 2.0 * 16 * 768 * 2304);
  EXPECT_LE(number(work[0], "best_seconds"), number(work[0], "median_seconds"));
  EXPECT_NEAR(number(work[0], "share"),
              number(work[0], "gflops") / number(limits, "multiply_add_gflops"), 1e-9);
  EXPECT_NEAR(number(work[0], "gflops"),
              number(work[0], "operations") / number(work[0], "median_seconds") / 1e9, 1e-6);
}

TEST(Bench, prints_a_table_of_what_was_asked_for) {
  const ProgramRun run = run_program(
      {"bench", "--quick", "--only", "attention-causal-64x32x128x4", "--simd", "scalar"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_NE(run.output.find("scalar"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("of limit"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("attention-causal-64x32x128x4 "), std::string::npos) << run.output;
  EXPECT_EQ(run.output.find("matmul"), std::string::npos) << run.output;
}

TEST(Bench, prints_its_table_in_the_language_asked_for) {
  const ProgramRun run =
      run_program({"bench", "--quick", "--only", "attention-causal-64x32x128x4", "--lang", "tr"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_NE(run.output.find("ortanca ms"), std::string::npos) << run.output;
  const std::string row = run.output.substr(run.output.find("attention-causal-64x32x128x4 "));
  EXPECT_NE(row.find("%"), std::string::npos) << row;
  EXPECT_EQ(row.find('.'), std::string::npos) << row;
}

TEST(Bench, says_how_to_start_what_is_measured_between_ranks) {
  expect_one_line(run_program({"bench", "--only", "mpi", "--quick"}), 2,
                  "`mpirun -n 2 headlight bench --only mpi --quick`");
  expect_one_line(run_program({"bench", "--only", "mpi-tran"}), 2, "the nearest is mpi");
  expect_one_line(run_program({"bench", "--shards", "8"}), 2, "--shards: is for --only mpi");
}

}  // namespace
}  // namespace headlight::test
