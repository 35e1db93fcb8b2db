// `headlight lesson`: the tutorials' own numbers, in every language.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "headlight/io/io.h"
#include "headlight/text/text.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

io::Json lesson_json(const std::string& name) {
  const ProgramRun run = run_program({"lesson", name, "--json"});
  EXPECT_EQ(run.code, 0) << run.errors;
  return io::parse_json(run.output, name);
}

const io::Json* array_of(const io::Json& lesson, const std::string& name) {
  for (const io::Json& step : *lesson.find("steps")->array()) {
    for (const io::Json& array : *step.find("arrays")->array()) {
      if (*array.find("name")->text() == name) return &array;
    }
  }
  ADD_FAILURE() << name << " is not there";
  return nullptr;
}

void flatten(const io::Json& value, std::vector<double>& into) {
  if (const io::Json::Array* list = value.array()) {
    for (const io::Json& entry : *list) flatten(entry, into);
  } else {
    into.push_back(value.number().value_or(-INFINITY));  // JSON has no infinity
  }
}

std::vector<double> values_of(const io::Json& lesson, const std::string& name) {
  std::vector<double> values;
  if (const io::Json* array = array_of(lesson, name)) flatten(*array->find("values"), values);
  return values;
}

std::string shape_of(const io::Json& lesson, const std::string& name) {
  const io::Json* array = array_of(lesson, name);
  return array == nullptr ? "" : io::json_text(*array->find("shape"));
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(expected[i])) {
      EXPECT_EQ(got[i], expected[i]) << i;
    } else {
      EXPECT_NEAR(got[i], expected[i], 6e-5) << i;
    }
  }
}

double number_of(const io::Json& lesson, const std::string& name) {
  for (const io::Json& step : *lesson.find("steps")->array()) {
    if (const io::Json* number = step.find("numbers")->find(name)) return *number->number();
  }
  ADD_FAILURE() << name << " is not there";
  return 0;
}

TEST(Lesson, steps_has_the_numbers_of_the_tutorial) {
  const io::Json lesson = lesson_json("steps");
  expect_near(values_of(lesson, "scores"), {2, 4, 4});
  expect_near(values_of(lesson, "all_scores"), {2, 4, 4, 4, 16, 12, 4, 12, 10});
  expect_near(values_of(lesson, "weights"), {0.0634, 0.4683, 0.4683});
  expect_near(values_of(lesson, "weighted_values"),
              {0.0634, 0.1268, 0.1901, 0.9366, 3.7465, 0, 0.9366, 2.8099, 1.4049});
  expect_near(values_of(lesson, "output"), {1.9366, 6.6831, 1.5951});
  EXPECT_EQ(shape_of(lesson, "concatenated"), "[1,3,512]");
  for (const double mean : values_of(lesson, "norm.mean")) EXPECT_LT(std::fabs(mean), 1);
}

TEST(Lesson, steps_prints_them_and_its_three_weighted_vectors) {
  const ProgramRun run = run_program({"lesson", "steps"});
  EXPECT_EQ(run.code, 0);
  for (const char* line : {"1,9366  6,6831  1,5951", "0,0634  0,1268  0,1901",
                           "0,9366  3,7465  0,0000", "0,9366  2,8099  1,4049", "Ders: "}) {
    EXPECT_NE(run.output.find(line), std::string::npos) << line;
  }
  const ProgramRun english = run_program({"lesson", "steps", "--lang", "en"});
  EXPECT_NE(english.output.find("1.9366  6.6831  1.5951"), std::string::npos);
}

TEST(Lesson, d2l_has_its_shape_and_weights_of_exactly_a_third_and_a_half) {
  const io::Json lesson = lesson_json("d2l");
  EXPECT_EQ(shape_of(lesson, "output"), "[2,4,100]");
  EXPECT_EQ(shape_of(lesson, "query"), "[2,5,4,20]");
  const std::vector<double> weights = values_of(lesson, "weights");
  ASSERT_EQ(weights.size(), 2U * 5 * 4 * 6);
  for (size_t i = 0; i < weights.size(); ++i) {
    const size_t sequence = i / (5 * 4 * 6), key = i % 6;
    const double expected =
        sequence == 0 ? (key < 3 ? static_cast<double>(1.0F / 3) : 0) : (key < 2 ? 0.5 : 0);
    EXPECT_EQ(static_cast<float>(weights[i]), static_cast<float>(expected)) << i;
  }
}

TEST(Lesson, transformer_masks_two_heads_as_by_hand_and_learns_the_continuation) {
  const io::Json lesson = lesson_json("transformer");
  const double root = std::sqrt(3.0);
  std::vector<double> scores = {1 / root * 2, -INFINITY, -INFINITY, 0,       4 / root,
                                -INFINITY,    1 / root,  2 / root,  2 / root};
  std::vector<double> twice = scores;
  twice.insert(twice.end(), scores.begin(), scores.end());
  expect_near(values_of(lesson, "identity.masked_scores"), twice);
  const double a = std::exp(4 / root) / (1 + std::exp(4 / root));
  const double b = std::exp(1 / root) / (std::exp(1 / root) + 2 * std::exp(2 / root));
  const double c = (1 - b) / 2;
  const std::vector<double> rows[] = {{1, 0, 1}, {1 - a, 2 * a, 1 - a}, {b + c, 2 * c + c, b}};
  std::vector<double> merged;
  for (const std::vector<double>& row : rows) {
    for (int copy = 0; copy < 2; ++copy) merged.insert(merged.end(), row.begin(), row.end());
  }
  expect_near(values_of(lesson, "identity.concatenated"), merged);
  EXPECT_LT(number_of(lesson, "loss_after"), 0.05);
  EXPECT_GT(number_of(lesson, "loss_before"), 2);
  EXPECT_NE(io::json_text(lesson).find("you win or you die"), std::string::npos);
}

TEST(Lesson, from_scratch_shows_the_mask_of_length_4_and_saturation) {
  const io::Json lesson = lesson_json("from-scratch");
  expect_near(values_of(lesson, "mask"), {0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0});
  const std::vector<double> masked = values_of(lesson, "masked_scores");
  ASSERT_EQ(masked.size(), 16U);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(std::isinf(masked[i]), i % 4 > i / 4) << i;
  EXPECT_EQ(shape_of(lesson, "query"), "[16,8,128,64]");
  EXPECT_EQ(shape_of(lesson, "output"), "[16,128,512]");
  EXPECT_GT(number_of(lesson, "unscaled_largest_weight"),
            2 * number_of(lesson, "scaled_largest_weight"));
  EXPECT_NE(io::json_text(lesson).find("width 512 cannot be split into 5 heads"),
            std::string::npos);
}

TEST(Lesson, nanogpt_measures_one_fused_layer_against_three) {
  const io::Json lesson = lesson_json("nanogpt");
  EXPECT_GT(number_of(lesson, "fused_milliseconds"), 0);
  EXPECT_GT(number_of(lesson, "separate_milliseconds"), 0);
  EXPECT_EQ(shape_of(lesson, "projected"), "[1,4,2304]");
  EXPECT_EQ(shape_of(lesson, "query"), "[1,12,4,64]");
  EXPECT_EQ(shape_of(lesson, "output"), "[1,4,768]");
}

// The lesson's own numbers as files, for the command that the task names.
TEST(Lesson, nanogpt_task_is_solved_by_the_command_it_names) {
  const io::Json lesson = lesson_json("nanogpt");
  const TemporaryFolder folder;
  const auto array = [&](const char* name, const tensor::Shape& shape) {
    const std::vector<double> values = values_of(lesson, name);
    return tensor::Tensor::of(shape, std::vector<float>(values.begin(), values.end()));
  };
  io::write_array(base::real_files(), folder / "x.npy", array("x", {3, 4}));
  io::write_safetensors(base::real_files(), folder / "w.safetensors",
                        {{"c_attn.weight", array("c_attn.weight", {12, 4})},
                         {"c_proj.weight", array("c_proj.weight", {4, 4})}});
  const ProgramRun run =
      run_program({"attend", "--query", folder / "x.npy", "--weights", folder / "w.safetensors",
                   "--heads", "2", "--causal", "--out", folder / "y.npy"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const tensor::Tensor y = read_floats(folder / "y.npy");
  const std::vector<double> expected = values_of(lesson, "y");
  ASSERT_EQ(y.elements(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(y.data<float>()[i], expected[i], 1e-6) << i;
  EXPECT_LT(number_of(lesson, "by_hand_difference"), 1e-5);
}

TEST(Lesson, nanogpt_learns_two_relations_with_two_heads) {
  for (const char* seed : {"1", "2", "3", "4", "5"}) {
    const ProgramRun run = run_program({"lesson", "nanogpt", "--json", "--seed", seed});
    const io::Json lesson = io::parse_json(run.output, "nanogpt");
    EXPECT_GT(number_of(lesson, "adjective_head_0"), 0.75) << seed;
    EXPECT_GT(number_of(lesson, "adjective_of_thing_head_0"), 0.75) << seed;
    EXPECT_LT(number_of(lesson, "adjective_of_thing_head_1"), 0.1) << seed;
    EXPECT_GT(number_of(lesson, "possession_head_1"), 0.75) << seed;
    EXPECT_LT(number_of(lesson, "possession_head_0"), 0.25) << seed;
    for (const char* name : {"possession_one_head", "adjective_of_thing_one_head"}) {
      EXPECT_GT(number_of(lesson, name), 0.25) << name << " " << seed;
      EXPECT_LT(number_of(lesson, name), 0.75) << name << " " << seed;
    }
  }
}

TEST(Lesson, nanogpt_cuts_the_mask_buffer_to_the_text) {
  const io::Json lesson = lesson_json("nanogpt");
  EXPECT_EQ(shape_of(lesson, "mask_buffer"), "[1,1,8,8]");
  EXPECT_EQ(shape_of(lesson, "mask"), "[1,1,4,4]");
  expect_near(values_of(lesson, "mask"), {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1});
  EXPECT_EQ(number_of(lesson, "mask_buffer_difference"), 0);
}

TEST(Lesson, d2l_attends_in_the_flattened_view_and_ranks_heads) {
  const io::Json lesson = lesson_json("d2l");
  EXPECT_EQ(shape_of(lesson, "flattened_query"), "[10,4,20]");
  expect_near(values_of(lesson, "repeated_valid_lens"), {3, 3, 3, 3, 3, 2, 2, 2, 2, 2});
  EXPECT_EQ(number_of(lesson, "flattened_difference"), 0);
  double most = 0;
  for (int layer = 0; layer < 3; ++layer) {
    for (int head = 0; head < 4; ++head) {
      const std::string name =
          "loss_without_decoder." + std::to_string(layer) + ".self." + std::to_string(head);
      most = std::max(most, number_of(lesson, name));
    }
  }
  EXPECT_GT(most, number_of(lesson, "loss") + 0.1);  // some head matters
}

TEST(Lesson, d2l_cuts_out_the_least_important_heads) {
  for (const char* seed : {"1", "2", "7"}) {
    const ProgramRun run = run_program({"lesson", "d2l", "--json", "--seed", seed});
    const io::Json lesson = io::parse_json(run.output, "d2l");
    double least = INFINITY, most = 0;
    for (int head = 0; head < 12; ++head) {
      const std::string name =
          "gradient_of_decoder." + std::to_string(head / 4) + ".self." + std::to_string(head % 4);
      least = std::min(least, number_of(lesson, name));
      most = std::max(most, number_of(lesson, name));
    }
    EXPECT_GT(least, 0) << seed;
    EXPECT_GT(most, 2 * least) << seed;
    const double both = number_of(lesson, "least_important_by_both");
    EXPECT_TRUE(both >= 0 && both <= 6) << seed;
    // Chosen heads are missed less than heads drawn by chance, on stories that had no say.
    for (const std::string by : {"gradient", "ablation"}) {
      EXPECT_LT(number_of(lesson, "loss_without_6_by_" + by),
                number_of(lesson, "loss_without_6_by_random"))
          << by << " " << seed;
      EXPECT_DOUBLE_EQ(number_of(lesson, "loss_without_0_by_" + by),
                       number_of(lesson, "loss_without_0_by_random"));
    }
    // What is cut out is what a gate at 0 leaves out.
    EXPECT_NEAR(number_of(lesson, "pruned_loss"), number_of(lesson, "loss_without_6_by_gradient"),
                1e-4);
    EXPECT_LT(number_of(lesson, "pruned_difference"), 1e-4) << seed;
    // Of each head 3 * 16 columns with their biases and 16 rows, 64 long, are gone.
    EXPECT_EQ(number_of(lesson, "parameters_before") - number_of(lesson, "parameters_after"),
              6 * (3 * 16 * (64 + 1) + 16 * 64));
  }
}

TEST(Lesson, d2l_times_the_pruned_model_beside_what_arithmetic_promises) {
  const io::Json lesson = lesson_json("d2l");
  for (const std::string model : {"stories_batch_1", "stories_batch_8", "wide_batch_8"}) {
    EXPECT_GT(number_of(lesson, "bound_of_" + model), 1) << model;
    EXPECT_GT(number_of(lesson, "measured_ratio_of_" + model), 0) << model;
    EXPECT_GT(number_of(lesson, "whole_milliseconds_of_" + model), 0) << model;
    EXPECT_GT(number_of(lesson, "pruned_milliseconds_of_" + model), 0) << model;
  }
  // A token of the wide model sees 64.5 others on average; the vocabulary has 64 words.
  const double c = 256, attention = 8 * c * c + 4 * 64.5 * c, rest = 16 * c * c + 2 * 64 * c;
  EXPECT_NEAR(number_of(lesson, "bound_of_wide_batch_8"),
              (attention + rest) / (attention / 2 + rest), 1e-9);
}

TEST(Lesson, from_scratch_shows_what_learning_by_heart_is_worth) {
  for (const char* seed : {"1", "2", "3", "4", "5"}) {
    const ProgramRun run = run_program({"lesson", "from-scratch", "--json", "--seed", seed});
    const io::Json lesson = io::parse_json(run.output, "from-scratch");
    const double smallest = number_of(lesson, "smallest_possible_loss");
    EXPECT_LT(number_of(lesson, "unregularized_training_loss"), smallest) << seed;
    EXPECT_GT(number_of(lesson, "unregularized_held_out_loss"),
              number_of(lesson, "regularized_held_out_loss") + 0.2)
        << seed;
    EXPECT_GT(number_of(lesson, "regularized_held_out_loss"), smallest * 0.9) << seed;
  }
}

TEST(Lesson, transformer_has_the_other_ways_beside_its_own) {
  const io::Json lesson = lesson_json("transformer");
  EXPECT_EQ(number_of(lesson, "N"), 34);
  EXPECT_EQ(number_of(lesson, "V"), 25);
  EXPECT_LT(number_of(lesson, "position_difference"), 1e-6);
  EXPECT_NE(number_of(lesson, "weight_by_root_of_head_width"),
            number_of(lesson, "weight_by_embedding_width"));
  EXPECT_NE(number_of(lesson, "two_layers"), number_of(lesson, "one_layer"));
  for (const char* paper :
       {"(1997): Long Short-Term Memory", "(2017): Attention Is All You Need"}) {
    EXPECT_NE(io::json_text(lesson).find(paper), std::string::npos) << paper;
  }
  EXPECT_EQ(shape_of(lesson, "variant.prediction.flattened.probabilities"), "[1,29]");
}

// Whether a line ends within a shape or between numbers: "(2, 4," or "8 ·".
bool breaks_off(const std::string& line) {
  const bool is_cut = std::regex_search(line, std::regex("\\([0-9A-Z]+,( [0-9A-Z]+,)*$"));
  return is_cut || std::regex_search(line, std::regex("[0-9] (·|=|/|×|→)$"));
}

TEST(Lesson, titles_say_what_the_arrays_are) {
  const auto step = [](const char* lesson, const char* number) {
    return run_program({"lesson", lesson, "--step", number, "--lang", "en"}).output;
  };
  EXPECT_NE(step("from-scratch", "4").find("  Mask  (4, 4)  mask\n"), std::string::npos);
  for (const char* number : {"7", "8"}) {
    EXPECT_NE(step("steps", number).find("  Output of self-attention  "), std::string::npos);
    EXPECT_EQ(step("steps", number).find("of each head"), std::string::npos);
  }
}

TEST(Lesson, speaks_its_own_language_and_the_others_within_80_columns) {
  const std::pair<const char*, const char*> own[] = {
      {"nanogpt", "Dərs: "}, {"d2l", "Ders: "}, {"from-scratch", "수업: "}};
  for (const auto& [name, start] : own) {
    EXPECT_TRUE(run_program({"lesson", name}).output.starts_with(start)) << name;
  }
  for (const char* language : {"en", "tr", "az", "ko"}) {
    for (const char* name : {"nanogpt", "steps", "d2l", "transformer", "from-scratch"}) {
      const ProgramRun run = run_program({"lesson", name, "--lang", language});
      ASSERT_EQ(run.code, 0) << name << run.errors;
      EXPECT_EQ(run.output.find('{'), std::string::npos) << name << " " << language;
      const bool comma = *language == 't' || *language == 'a';
      EXPECT_FALSE(
          std::regex_search(run.output, std::regex(comma ? "[0-9]\\.[0-9]" : "[0-9],[0-9]")))
          << name << " " << language << " has both decimal signs";
      EXPECT_EQ(run.output.find('\033'), std::string::npos);
      for (size_t begin = 0; begin < run.output.size();) {
        const size_t end = run.output.find('\n', begin);
        const std::string line = run.output.substr(begin, end - begin);
        EXPECT_LE(text::columns(line), 80) << name << " " << language << ": " << line;
        EXPECT_FALSE(breaks_off(line)) << name << " " << language << ": " << line;
        begin = end + 1;
      }
    }
  }
}

TEST(Lesson, in_the_list_is_opened_in_the_language_of_the_list) {
  const std::string list = run_program({"lesson", "--lang", "en"}).output;
  EXPECT_NE(list.find("headlight lesson nanogpt --lang en\n"), list.npos) << list;
  const std::string turkish = run_program({"lesson", "--lang", "tr"}).output;
  EXPECT_NE(turkish.find("headlight lesson steps\n"), turkish.npos) << turkish;
}

TEST(Lesson, shows_one_step_alone) {
  const ProgramRun run = run_program({"lesson", "steps", "--step", "4", "--lang", "en"});
  EXPECT_EQ(run.code, 0);
  EXPECT_TRUE(run.output.starts_with("Step 4: ")) << run.output;
  EXPECT_EQ(run.output.find("Step 5"), std::string::npos);
}

TEST(Lesson, wrong_uses_are_one_line) {
  expect_one_line(run_program({"lesson", "nanogtp"}), 2, "the nearest is nanogpt");
  expect_one_line(run_program({"lesson", "steps", "--step", "13"}), 2, "has the steps 1 to 12");
  expect_one_line(run_program({"lesson", "steps", "--step", "0"}), 2, "--step");
  expect_one_line(run_program({"lesson", "steps", "--lang", "de"}), 2, "en, tr, az, ko");
  expect_one_line(run_program({"lesson", "steps", "more"}), 2, "unexpected argument");
}

}  // namespace
}  // namespace headlight::test
