// `headlight heads gates`, `prune`, `curve` and `bench` that are interrupted or asked for what
// cannot be; and their help.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "headlight/text/text.h"
#include "tests/cli/heads_pruning.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/terminal.h"
#include "tests/models/support.h"

namespace headlight::test {
namespace {

using io::Json;
using HeadsPruningUse = HeadsPruning;

TEST_F(HeadsPruningUse, interrupted_curves_go_on_to_the_same_bytes) {
  const Words kept = {"--out", folder_ / "out", "--quiet", "--json"};
  const std::string whole = run(curve(kept)).output;
  const auto documents = [&] {
    std::string all;
    for (const char* name : {"json", "csv", "svg", "html"})
      all += folder_.get(std::string("out/result.") + name);
    return all;
  };
  const std::string before = documents();
  const Json state = io::parse_json(folder_.get("out/experiment.json"), "state");
  const Json::Object finished = *state.find("finished")->object();
  const auto put_state = [&](const Json::Object& parts) {
    folder_.put("out/experiment.json",
                io::json_text(Json::Object{
                    {"experiment", 1}, {"request", *state.find("request")}, {"finished", parts}}));
  };
  for (const size_t left : {size_t{0}, finished.size() / 3, finished.size() - 1}) {
    put_state(Json::Object(finished.begin(), finished.begin() + static_cast<int64_t>(left)));
    EXPECT_EQ(run(curve(kept + Words{"--resume"})).output, whole);
    EXPECT_EQ(documents(), before);
  }
  // What is there is taken and not measured again.
  Json::Object changed = finished;
  for (auto& [part, result] : changed) {
    if (part.starts_with("point gradient"))
      result = Json::Object{{"loss", 77.25}, {"metric", Json()}};
  }
  put_state(changed);
  EXPECT_NE(run(curve(kept + Words{"--resume"})).output.find("77.25"), std::string::npos);
}

TEST_F(HeadsPruningUse, curves_can_be_widened_but_not_changed_when_they_go_on) {
  const Words kept = {"--out", folder_ / "out", "--quiet", "--json"};
  run(curve(kept));
  Words more = curve(kept + Words{"--resume"});
  *(std::ranges::find(more, "--random-orders") + 1) = "4";
  *(std::ranges::find(more, "--shares") + 1) = "0,0.25,1";
  Words anew = more;
  std::erase(anew, "--resume");
  *(std::ranges::find(anew, "--out") + 1) = folder_ / "anew";
  EXPECT_EQ(run(more).output, run(anew).output);
  expect_one_line(run_program(curve(kept + Words{"--resume", "--seed", "3"})), 3,
                  "seed is 3, the experiment there was begun with 0");
  Words other = curve(kept + Words{"--resume"});
  *(std::ranges::find(other, "--finetune") + 1) = "3";
  expect_one_line(run_program(other), 3, "finetune is 3");
}

TEST_F(HeadsPruningUse, a_signal_saves_the_points_of_a_curve) {
  const Words words = {"heads",  "curve",    "thrones", "--data",          pairs_, "--methods",
                       "random", "--shares", "0,0.5",   "--random-orders", "15",   "--json"};
  const Words kept = words + Words{"--out", folder_ / "out"};
  Program program(kept);
  while (!base::exists(base::real_files(), folder_ / "out/experiment.json")) usleep(1000);
  ASSERT_TRUE(program.send(SIGINT));
  const ProgramRun interrupted = program.finish();
  EXPECT_EQ(interrupted.code, 130) << interrupted.errors;
  EXPECT_EQ(interrupted.output, "");
  EXPECT_NE(interrupted.errors.find("--resume"), std::string::npos) << interrupted.errors;
  EXPECT_FALSE(base::exists(base::real_files(), folder_ / "out/result.json"));
  EXPECT_EQ(run(kept + Words{"--resume"}).output, run(words).output);
}

TEST_F(HeadsPruningUse, an_interrupted_removal_leaves_nothing) {
  const Words before = files_in_folder();
  for (const Words& words : {Words{"heads", "prune", "numbers", "--keep", "0.5", "--by", "ablation",
                                   "--examples", "4000"},
                             Words{"heads", "gates", "numbers", "--task", "numbers", "--penalty",
                                   "0.01", "--steps", "100000"}}) {
    Program program(words + Words{"--out", folder_ / "never"});
    ASSERT_TRUE(program.send(SIGINT));
    const ProgramRun interrupted = program.finish();
    EXPECT_EQ(interrupted.code, 130) << interrupted.errors;
    EXPECT_EQ(interrupted.output, "");
    EXPECT_EQ(files_in_folder(), before);
  }
}

// Whatever was finished when the signal came.
TEST_F(HeadsPruningUse, interrupted_removals_go_on_to_the_same_bytes) {
  const Words words = {"heads",    "prune",      "numbers", "--keep",  "0.5",   "--by",
                       "ablation", "--examples", "24",      "--quiet", "--json"};
  const std::string whole = run(words + Words{"--out", folder_ / "whole"}).output;
  const Words kept = words + Words{"--out", folder_ / "again"};
  const std::string state = folder_ / "again.unfinished/experiment.json";
  bool was_kept = false;
  for (useconds_t wait = 200'000; !was_kept && wait < 30'000'000; wait += wait / 2) {
    Program program(kept);
    usleep(wait);
    if (!program.send(SIGINT)) break;
    const ProgramRun interrupted = program.finish();
    ASSERT_EQ(interrupted.code, 130) << interrupted.errors;
    EXPECT_FALSE(base::exists(base::real_files(), folder_ / "again"));
    was_kept = base::exists(base::real_files(), state);
  }
  ASSERT_TRUE(was_kept);
  EXPECT_NE(folder_.get("again.unfinished/experiment.json").find("round 1"), std::string::npos);
  expect_one_line(run_program(kept), 3, "--resume goes on");
  expect_one_line(run_program(kept + Words{"--resume", "--seed", "5"}), 3, "seed is 5");
  EXPECT_EQ(run(kept + Words{"--resume"}).output, whole);
  EXPECT_EQ(folder_.get("again/model.safetensors"), folder_.get("whole/model.safetensors"));
  EXPECT_FALSE(base::exists(base::real_files(), folder_ / "again.unfinished"));
}

TEST_F(HeadsPruningUse, interrupted_gates_go_on_to_the_same_bytes) {
  for (const Words& more : {Words{}, Words{"--train-weights"}}) {
    const Words words =
        Words{"heads",   "gates", "numbers",    "--task", "numbers", "--penalty", "0.001",
              "--steps", "120",   "--examples", "24",     "--quiet", "--json"} +
        more;
    const std::string name = more.empty() ? "whole" : "weights";
    const std::string whole = run(words + Words{"--out", folder_ / name}).output;
    const Words kept = words + Words{"--out", folder_ / (name + "2")};
    const std::string unfinished = folder_ / (name + "2.unfinished");
    bool was_kept = false;
    for (useconds_t wait = 100'000; !was_kept && wait < 30'000'000; wait += wait / 3) {
      Program program(kept);
      usleep(wait);
      if (!program.send(SIGINT)) break;
      const ProgramRun interrupted = program.finish();
      if (interrupted.code == 0) break;
      ASSERT_EQ(interrupted.code, 130) << interrupted.errors;
      EXPECT_FALSE(base::exists(base::real_files(), folder_ / (name + "2")));
      was_kept = base::exists(base::real_files(), unfinished + "/gates.safetensors");
    }
    ASSERT_TRUE(was_kept);
    expect_one_line(run_program(kept), 3, "--resume goes on");
    expect_one_line(run_program(kept + Words{"--resume", "--seed", "5"}), 3, "seed is 5");
    EXPECT_EQ(run(kept + Words{"--resume"}).output, whole);
    EXPECT_EQ(folder_.get(name + "2/model.safetensors"), folder_.get(name + "/model.safetensors"));
    EXPECT_FALSE(base::exists(base::real_files(), unfinished));
  }
}

TEST_F(HeadsPruningUse, gates_refuse_what_is_no_state_of_theirs) {
  const Words words = {"heads",     "gates",   "numbers", "--task",     "numbers",
                       "--penalty", "0.01",    "--steps", "40",         "--examples",
                       "24",        "--quiet", "--out",   folder_ / "x"};
  Program program(words);
  const std::string state = folder_ / "x.unfinished/experiment.json";
  for (int i = 0; i < 30'000 && !base::exists(base::real_files(), state); ++i) usleep(1000);
  program.kill();
  program.finish();
  ASSERT_TRUE(base::exists(base::real_files(), state));
  for (const char* bytes : {"", "{}", "12345678{}"}) {
    folder_.put("x.unfinished/gates.safetensors", bytes);
    expect_one_line(run_program(words + Words{"--resume"}), 3, "gates.safetensors");
  }
  base::remove_file(base::real_files(), folder_ / "x.unfinished/gates.safetensors");
  run(words + Words{"--resume"});
}

TEST_F(HeadsPruningUse, long_work_tells_how_far_it_is) {
  const std::vector<std::pair<Words, std::string>> works = {
      {{"gates", "numbers", "--task", "numbers", "--penalty", "0.01", "--steps", "3000", "--out",
        folder_ / "x"},
       "Gates learn"},
      {{"prune", "numbers", "--keep", "0.5", "--by", "ablation", "--examples", "2000", "--out",
        folder_ / "y"},
       "Pruning heads"},
      {{"curve", "numbers", "--task", "numbers", "--out", folder_ / "c"}, "Removing heads"},
      {{"bench", "numbers", "numbers", "--seconds", "5"}, "Measuring the speed"}};
  for (const auto& [words, what] : works) {
    SCOPED_TRACE(what);
    Terminal terminal(Words{"heads"} + words + Words{"--lang", "en"});
    EXPECT_TRUE(terminal.wait_for(what));
    EXPECT_TRUE(terminal.wait_for("left")) << "and how long it will take";
    terminal.type("\x03");
    EXPECT_EQ(terminal.finish(), 130);
    EXPECT_EQ(terminal.screen().broken_lines(), Words{});
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "y"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "c/experiment.json"));
}

TEST_F(HeadsPruningUse, files_of_both_models_are_not_written_over) {
  const Words words = bench();
  const std::string config = half_ + "/config.json";
  const std::string before = text_of(config);
  expect_one_line(run_program(words + Words{"--svg", config}), 2, "is the file of PRUNED");
  expect_one_line(run_program({"heads", "bench", half_, "thrones", "--html", config}), 2,
                  "is the file of FULL");
  expect_one_line(run_program(prune({"--svg", pairs_})), 2, "is the file of --data");
  EXPECT_EQ(text_of(config), before);
}

TEST_F(HeadsPruningUse, wrong_use_is_told_in_one_line) {
  const auto wrong = [&](const Words& words, int code, const std::string& part) {
    SCOPED_TRACE(part);
    const Words before = files_in_folder();
    expect_one_line(run_program(words), code, part);
    EXPECT_EQ(files_in_folder(), before);
  };
  const std::string out = folder_ / "never";
  const Words prune = {"heads", "prune", "thrones", "--out", out};
  const Words with_data = prune + Words{"--data", pairs_};
  wrong({"heads", "prune"}, 2, "MODEL: is missing");
  wrong(prune, 2, "--keep: is missing");
  wrong(with_data + Words{"--keep", "1.5"}, 2, "--keep (\"1.5\")");
  wrong(with_data + Words{"--keep", "-0.1"}, 2, "--keep");
  wrong(with_data + Words{"--keep", "nan"}, 2, "--keep");
  wrong(with_data + Words{"--keep", "0"}, 2, "leaves no head");
  wrong(with_data + Words{"--keep", "0.01"}, 3, "at least one must stay");
  wrong(with_data + Words{"--keep", "0.5", "--by", "gradeint"}, 2, "gradient");
  wrong(with_data + Words{"--keep", "0.5", "--heads-off", "decoder.0.self.1"}, 2, "--heads-off");
  wrong(with_data + Words{"--by", "random", "--heads-off", "decoder.0.self.1"}, 2, "--heads-off");
  wrong(prune + Words{"--heads-off", "decoder.0.self"}, 2, "is not a head's name");
  wrong(prune + Words{"--heads-off", "decoder.0.self.9"}, 3, "--heads-off");
  wrong(prune + Words{"--heads-off", "decoder.7.self.0"}, 3, "decoder.7.self");
  wrong(prune + Words{"--heads-off",
                      "encoder.0.self.0,encoder.0.self.1,decoder.0.self.0,decoder.0.self.1,"
                      "decoder.0.cross.0,decoder.0.cross.1"},
        3, "at least one must stay");
  wrong(prune + Words{"--keep", "0.5"}, 3, "data: is missing");
  wrong(with_data + Words{"--keep", "0.5", "--finetune", "-1"}, 2, "--finetune");
  wrong(with_data + Words{"--keep", "0.5", "--learning-rate", "0.1"}, 2, "--finetune");
  wrong(with_data + Words{"--keep", "0.5", "--finetune", "2", "--learning-rate", "0"}, 2,
        "must be above 0");
  wrong(with_data + Words{"--keep", "0.5", "--penalty", "0.1"}, 2, "--by gates");
  wrong(with_data + Words{"--keep", "0.5", "--by", "gates", "--penalty", "0"}, 2,
        "must be above 0");
  wrong({"heads", "prune", "thrones", "--keep", "0.5", "--data", pairs_}, 2, "--out: is missing");
  wrong({"heads", "prune", "thrones", "--keep", "0.5", "--data", pairs_, "--out", folder_ / "."}, 3,
        "is there already");
  wrong({"heads", "prune", "thrones", "--keep", "0.5", "--data", pairs_, "--out", pairs_}, 3,
        "is there already");
  const Words gates = {"heads", "gates", "thrones", "--out", out};
  wrong(gates + Words{"--data", pairs_}, 2, "--penalty: is missing");
  for (const char* penalty : {"0", "-1", "inf", "x"})
    wrong(gates + Words{"--data", pairs_, "--penalty", penalty}, 2, "--penalty");
  wrong(gates + Words{"--penalty", "0.1"}, 2, "--data: is missing");
  wrong(gates + Words{"--data", pairs_, "--penalty", "0.1", "--steps", "0"}, 2, "--steps");
  wrong(gates + Words{"--data", pairs_, "--penalty", "1000", "--steps", "60"}, 3,
        "heads would go at penalty 1000");
  wrong({"heads", "gates", "thrones", "--data", pairs_, "--penalty", "0.1"}, 2,
        "--out: is missing");
  const Words curve = {"heads", "curve", "thrones"};
  wrong(curve, 2, "--data: is missing");
  wrong(curve + Words{"--data", folder_ / "none"}, 3, "none");
  const Words of_data = curve + Words{"--data", pairs_};
  wrong(of_data + Words{"--methods", "gradient,nonsense"}, 2, "--methods (\"nonsense\")");
  wrong(of_data + Words{"--methods", "random,random"}, 2, "is named twice");
  wrong(of_data + Words{"--methods", "random,"}, 2, "--methods");
  wrong(of_data + Words{"--types", "kross"}, 2, "cross");
  wrong(of_data + Words{"--shares", "0,1.5"}, 2, "--shares");
  wrong(of_data + Words{"--random-orders", "0"}, 2, "--random-orders");
  wrong(of_data + Words{"--resume"}, 2, "--out");
  wrong({"heads", "curve", "stories", "--data", pairs_, "--types", "cross"}, 3, "no such heads");
  wrong({"heads", "bench", "thrones"}, 2, "PRUNED: is missing");
  wrong({"heads", "bench", "thrones", "nowhere"}, 3, "nowhere");
  wrong({"heads", "bench", "thrones", "stories"}, 3, "do not do the same work");
  wrong({"heads", "bench", "thrones", "thrones", "--batches", "0"}, 2, "--batches");
  wrong({"heads", "bench", "thrones", "thrones", "--seconds", "0"}, 2, "must be above 0");
  wrong({"heads", "bench", "numbers", "numbers", "--batches", "1048576", "--tokens", "256"}, 4,
        "batch 1048576, tokens 256");
}

TEST_F(HeadsPruningUse, of_a_model_that_predicts_nothing_is_refused) {
  models::BertConfig config = models::small_bert();
  config.masked_words = false;
  models::Bert model(config);
  models::fill(model, 1);
  const std::string bare = folder_ / "bare";
  std::filesystem::copy(model_folders().encoder(), bare);
  std::filesystem::remove(bare + "/model.safetensors");
  models::save_model(base::real_files(), bare, model);
  const std::string text = folder_.put("text.txt", many_pairs());
  for (const Words& words :
       {Words{"prune", bare, "--keep", "0.5", "--out", folder_ / "x"},
        Words{"gates", bare, "--penalty", "0.1", "--out", folder_ / "x"}, Words{"curve", bare}}) {
    SCOPED_TRACE(words[0]);
    expect_one_line(run_program(Words{"heads"} + words + Words{"--data", text}), 3, "predict");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
  }
}

TEST_F(HeadsPruningUse, help_begins_with_examples_within_80_columns) {
  const std::string list = run({"heads", "--help"}).output;
  for (const char* name : {"gates", "prune", "curve", "bench"}) {
    EXPECT_NE(list.find(std::string("\n  ") + name + " "), std::string::npos) << name;
    const std::string help = run({"heads", name, "--help"}).output;
    EXPECT_LT(help.find("Examples:"), help.find("Options:"));
    for (size_t begin = 0; begin < help.size();) {
      const size_t end = help.find('\n', begin);
      EXPECT_LE(text::columns(help.substr(begin, end - begin)), 80) << help;
      begin = end + 1;
    }
  }
  const std::string help = run({"heads", "prune", "--help"}).output;
  for (const char* method : {"gradient:", "ablation:", "entropy:", "gates:", "random:"})
    EXPECT_NE(help.find(method), std::string::npos) << method;
}

}  // namespace
}  // namespace headlight::test
