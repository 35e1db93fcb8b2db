// Variables beside options: what is typed wins, also over what excludes it.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/arrays.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

// With the variables the command gives what it gives without.
void expect_ignored(const Words& words, const std::vector<std::string>& variables) {
  SCOPED_TRACE(words[0] + " with " + variables[0]);
  const Surroundings plain{.input_path = "/dev/null"};
  Surroundings around = plain;
  around.set = variables;
  const ProgramRun expected = run_program(words, plain), run = run_program(words, around);
  EXPECT_EQ(expected.code, 0) << expected.errors;
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.output, expected.output);
}

TEST(Environment, gives_way_to_options_that_exclude_it) {
  const std::string gpt = model_folders().gpt(), translator = model_folders().translator();
  const Words generate = {"generate", gpt, "--prompt", "a"};
  expect_ignored(generate + Words{"--temperature", "1"},
                 {"HEADLIGHT_BEAM=4", "HEADLIGHT_LENGTH_PENALTY=0.6"});
  expect_ignored(generate + Words{"--beam", "2"},
                 {"HEADLIGHT_TEMPERATURE=1", "HEADLIGHT_TOP_K=3", "HEADLIGHT_MIN_P=0.1"});
  expect_ignored(generate, {"HEADLIGHT_ENCODING=cp949", "HEADLIGHT_PROMPT_FILE=none.txt"});
  expect_ignored({"generate", gpt, "--prompt-ids", "3"},
                 {"HEADLIGHT_PROMPT=ab", "HEADLIGHT_SPECIAL=1"});
  expect_ignored({"tokenize", gpt, "--decode", "3,4"},
                 {"HEADLIGHT_TEXT=ab", "HEADLIGHT_FRAMED=yes", "HEADLIGHT_ENCODING=cp949"});
  expect_ignored({"translate", translator, "--text", "ab"}, {"HEADLIGHT_ENCODING=cp949"});
  expect_ignored({"translate", translator, "--encoding", "cp949"}, {"HEADLIGHT_TEXT=ab"});
  expect_ignored({"translate", translator, "--text", "ab"}, {"HEADLIGHT_LENGTH_PENALTY=0.6"});
}

TEST(Environment, gives_way_to_formats_and_models_that_are_typed) {
  const Words explain = {"explain", "--text", "you", "--only", "1"};
  expect_ignored(explain + Words{"--json"}, {"HEADLIGHT_FORMAT=html"});
  expect_ignored(explain + Words{"--format", "text"}, {"HEADLIGHT_JSON=1"});
  expect_ignored(explain, {"HEADLIGHT_CELL=logits[0,0]"});
  expect_ignored({"explain", "thrones", "--text", "you", "--only", "1"},
                 {"HEADLIGHT_HEADS=2", "HEADLIGHT_TRAIN=1"});
}

TEST(Environment, gives_way_in_attention_and_evaluation) {
  const TemporaryFolder folder;
  const std::string query = write_numbers(folder / "x.npy", {3, 4});
  const std::string weights = folder / "w.safetensors";
  io::write_safetensors(base::real_files(), weights,
                        {{"W_q.weight", tensor::Tensor::zeros(tensor::DType::f32, {2, 4})},
                         {"W_k.weight", tensor::Tensor::zeros(tensor::DType::f32, {2, 4})},
                         {"w_v.weight", tensor::Tensor::zeros(tensor::DType::f32, {1, 2})}});
  expect_ignored({"attend", "--query", query, "--weights", weights, "--scoring", "additive"},
                 {"HEADLIGHT_SCALE=0.5", "HEADLIGHT_HEADS=2", "HEADLIGHT_LAYOUT=d2l"});
  expect_ignored({"attend", "--query", query},
                 {"HEADLIGHT_SCORING=additive", "HEADLIGHT_LAYOUT=d2l"});
  expect_ignored({"attend", "--query", query}, {"HEADLIGHT_GRADS=" + (folder / "g.safetensors")});
  ASSERT_EQ(run_program(small_copy(folder / "copy", 2)).code, 0);
  expect_ignored({"evaluate", folder / "copy", "--task", "copy"},
                 {"HEADLIGHT_DATA=none.tsv", "HEADLIGHT_ENCODING=cp949", "HEADLIGHT_BEAM=3"});
  expect_ignored({"evaluate", model_folders().gpt(), "--data", folder.put("a.txt", "a: a: a")},
                 {"HEADLIGHT_TASK=copy", "HEADLIGHT_BEAM=3"});
}

TEST(Environment, gives_way_in_training_and_beats_the_file) {
  const TemporaryFolder folder;
  Words words = small_copy(folder / "run", 2) + Words{"--config"};
  words.push_back(folder.put("run.toml", "tokenizer = char\nbatch_tokens = 5\n"));
  const ProgramRun run = run_program(
      words, {.set = {"HEADLIGHT_DATA=none.txt", "HEADLIGHT_BIAS=0", "HEADLIGHT_INIT=none"}});
  EXPECT_EQ(run.code, 0) << run.errors;
  std::string pairs;
  for (int i = 0; i < 40; ++i) pairs += "a b\tb a\n";
  const Words translate = {
      "train",     "--task", "translate", "--data",  folder.put("pairs.tsv", pairs),
      "--n_layer", "1",      "--n_embd",  "8",       "--n_head",
      "1",         "--out",  "",          "--config"};
  const auto trained = [&](const std::string& out, const std::string& config,
                           const Surroundings& around) {
    Words with = translate + Words{folder.put(out + ".toml", config), "--max_iters", "1"};
    *std::next(std::ranges::find(with, "--out")) = folder / out;
    const ProgramRun result = run_program(with, around);
    EXPECT_EQ(result.code, 0) << result.errors;
    return io::parse_json(folder.get(out + "/run.json"), "run.json");
  };
  const io::Json made = trained("a", "source = 's'\ntarget = 't'\nbatch_tokens = 50\n",
                                {.set = {"HEADLIGHT_BATCH_SIZE=3", "HEADLIGHT_SOURCE=none"}});
  EXPECT_EQ(*made.find("batch_size"), io::Json(3));
  EXPECT_EQ(*made.find("batch_tokens"), io::Json(0));
  EXPECT_EQ(*made.find("source"), io::Json(""));
}

TEST(Environment, that_contradicts_itself_names_its_variables) {
  const std::string gpt = model_folders().gpt();
  expect_one_line(run_program({"generate", gpt, "--prompt", "a"},
                              {.set = {"HEADLIGHT_BEAM=4", "HEADLIGHT_TEMPERATURE=1"}}),
                  2, "HEADLIGHT_TEMPERATURE: has no meaning with HEADLIGHT_BEAM");
  expect_one_line(run_program({"explain", "--text", "you"},
                              {.set = {"HEADLIGHT_FORMAT=html", "HEADLIGHT_JSON=1"}}),
                  2, "HEADLIGHT_FORMAT: has no meaning with HEADLIGHT_JSON");
  expect_one_line(run_program({"explain", "--text", "you", "--json", "--format", "html"}), 2,
                  "--format: has no meaning with --json");
  const TemporaryFolder folder;
  const std::string config = folder.put("run.toml", "batch_size = 5\nbatch_tokens = 50\n");
  expect_one_line(run_program({"train", "--task", "translate", "--data", "x", "--config", config,
                               "--out", folder / "run"}),
                  3, "run.toml line 2 batch_tokens: has no meaning with " + config + " line 1");
}

TEST(Environment, means_what_the_option_of_the_command_means) {
  const TemporaryFolder folder;
  const std::string query = write_numbers(folder / "x.npy", {3, 4});
  expect_one_line(run_program({"attend", "--query", query}, {.set = {"HEADLIGHT_SCALE=none"}}), 2,
                  "HEADLIGHT_SCALE (\"none\"): must be a number");
  expect_one_line(run_program({"attend", "--query", query}, {.set = {"HEADLIGHT_BIAS=false"}}), 2,
                  "HEADLIGHT_BIAS (\"false\"): the ending must be");
  expect_one_line(run_program({"explain", "--text", "you"}, {.set = {"HEADLIGHT_SCALE=0.5"}}), 2,
                  "HEADLIGHT_SCALE (\"0.5\"): must be one of");
}

}  // namespace
}  // namespace headlight::test
