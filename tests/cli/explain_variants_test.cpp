// `headlight explain --scale` and `--norm`: the way that is asked for, in every format.
#include <gtest/gtest.h>

#include "headlight/io/io.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

constexpr const char* kSentence = "When you play the game of thrones";

ProgramRun varied(std::vector<std::string> more) {
  more.insert(more.begin(), {"explain", "--text", kSentence});
  return run_program(more);
}

ProgramRun varied_gpt(std::vector<std::string> more) {
  more.insert(more.begin(), {"explain", "stories", "--text", "Anna has two"});
  return run_program(more);
}

io::Json cell_of(const ProgramRun& run) {
  EXPECT_EQ(run.code, 0) << run.errors;
  return io::parse_json(run.output, "output");
}

double value_of(const io::Json& cell) { return *cell.find("value")->number(); }

bool any_starts_with(const Tensors& tensors, const std::string& start) {
  const auto found = tensors.lower_bound(start);
  return found != tensors.end() && found->first.starts_with(start);
}

TEST(ExplainVariants, a_cell_is_that_of_the_scale_asked_for) {
  const std::string cell = "encoder.0.self.head.0.scaled_scores[3,5]";
  const double raw =
      value_of(cell_of(varied({"--cell", "encoder.0.self.head.0.scores[3,5]", "--json"})));
  const io::Json none = cell_of(varied({"--cell", cell, "--scale", "none", "--json"}));
  EXPECT_EQ(*none.find("cell")->text(), "variant.scale.none." + cell);
  EXPECT_EQ(value_of(none), raw);
  const io::Json width = cell_of(varied({"--cell", cell, "--scale", "width", "--json"}));
  EXPECT_NEAR(value_of(width), raw / 6, 1e-5);
  const io::Json own = cell_of(varied({"--cell", cell, "--scale", "sqrt_head_width", "--json"}));
  EXPECT_EQ(*own.find("cell")->text(), cell);
  EXPECT_NEAR(value_of(own), raw / 2, 1e-5);
  EXPECT_NE(varied({"--cell", cell, "--scale", "none"}).output.find("variant.scale.none." + cell),
            std::string::npos);
}

TEST(ExplainVariants, a_cell_is_that_of_the_norm_asked_for) {
  const std::string cell = "decoder.0.norm_1.mean[1]";
  const double own = value_of(cell_of(varied_gpt({"--cell", cell, "--json"})));
  const io::Json post = cell_of(varied_gpt({"--cell", cell, "--norm", "post", "--json"}));
  EXPECT_EQ(*post.find("cell")->text(), "variant.norm.post." + cell);
  EXPECT_NE(value_of(post), own);
  EXPECT_EQ(value_of(cell_of(varied_gpt({"--cell", cell, "--norm", "pre", "--json"}))), own);
  // The worked model is made so, and what is shown is its own.
  const std::string norm = "encoder.0.norm_1.mean[1]";
  const io::Json worked = cell_of(varied({"--cell", norm, "--norm", "pre", "--json"}));
  EXPECT_EQ(*worked.find("cell")->text(), norm);
  EXPECT_NE(value_of(worked), value_of(cell_of(varied({"--cell", norm, "--json"}))));
}

TEST(ExplainVariants, a_tensor_is_shown_in_both_ways) {
  const std::string name = "encoder.0.self.head.1.weights";
  const ProgramRun run = varied({"--heads", "2", "--only", name, "--scale", "none"});
  const size_t own = run.output.find(" " + name + "\n");
  const size_t other = run.output.find(" variant.scale.none." + name + "\n");
  ASSERT_NE(own, std::string::npos) << run.output;
  ASSERT_NE(other, std::string::npos) << run.output;
  EXPECT_LT(own, other);
  EXPECT_NE(run.output.find("  Head 1\n"), std::string::npos) << run.output;
  // Those that it leaves as they are stand beside it.
  EXPECT_EQ(
      varied({"--only", "encoder.0.self.scores,encoder.0.self.weights", "--scale", "none"}).code,
      0);
}

TEST(ExplainVariants, a_file_has_those_that_are_asked_for) {
  const TemporaryFolder folder;
  const std::string path = folder / "trace.safetensors";
  const auto tensors = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--format", "safetensors", "--out", path});
    EXPECT_EQ(varied(more).code, 0);
    return read_tensors(path);
  };
  const Tensors all = tensors({});
  EXPECT_TRUE(any_starts_with(all, "variant.scale.none."));
  EXPECT_TRUE(any_starts_with(all, "variant.scale.width."));
  const Tensors one = tensors({"--scale", "none"});
  EXPECT_TRUE(any_starts_with(one, "variant.scale.none.encoder.0.self.weights"));
  EXPECT_FALSE(any_starts_with(one, "variant.scale.width."));
  EXPECT_FALSE(any_starts_with(one, "variant.norm."));
  EXPECT_TRUE(one.contains("encoder.0.self.weights"));
  EXPECT_FALSE(any_starts_with(tensors({"--scale", "sqrt_head_width"}), "variant."));
}

TEST(ExplainVariants, a_page_shows_it_at_once) {
  const ProgramRun run = varied({"--scale", "none", "--norm", "pre", "--format", "html"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_NE(run.output.find(R"("asked":["norm.pre","scale.none"])"), std::string::npos);
  // Of a model too large for all of them, too.
  std::string text = "Anna has two apples.";
  for (int i = 0; i < 3; ++i) text += " " + text;
  const ProgramRun large =
      run_program({"explain", "stories", "--text", text, "--norm", "post", "--format", "html"});
  EXPECT_NE(large.output.find("variant.norm.post.decoder.0.self.weights"), std::string::npos);
  EXPECT_EQ(large.output.find("variant.scale.none.decoder"), std::string::npos);
}

TEST(ExplainVariants, what_it_does_not_change_is_refused) {
  const std::string same = "encoder.0.self.output";
  const std::string why = "(" + same + "): --scale none leaves it as it is; the nearest";
  expect_one_line(varied({"--cell", same + "[0,0]", "--scale", "none"}), 3, why);
  expect_one_line(varied({"--only", same, "--scale", "none"}), 3, why);
  EXPECT_EQ(varied({"--only", same, "--scale", "sqrt_head_width"}).code, 0);
  expect_one_line(varied_gpt({"--cell", "decoder.0.self.head.0.weights[1,1]", "--scale", "none",
                              "--norm", "post"}),
                  3, "give one of them");
}

}  // namespace
}  // namespace headlight::test
