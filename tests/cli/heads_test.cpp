// `headlight heads`: each experiment as JSON, CSV, text, SVG and a page; wrong use in one line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "headlight/io/io.h"
#include "headlight/text/text.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/browser.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/program.h"
#include "tests/cli/terminal.h"
#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

using io::Json;

constexpr const char* kPairs =
    "When you play the game of thrones\tyou win or you die\n"
    "When the sun rises over the sea\tthe boats come home\n"
    "When winter comes to the north\tthe wolves sing at night\n";

// Data for the model thrones, 8 heads that can be looked at in no time.
class Heads : public testing::Test {
 protected:
  Words thrones(const std::string& command, const Words& more = {}) const {
    return Words{"heads", command, "thrones"} + more;
  }
  Words with_data(const std::string& command, const Words& more = {}) const {
    return thrones(command, Words{"--data", pairs_} + more);
  }
  static ProgramRun run(const Words& words) {
    ProgramRun run = run_program(words);
    EXPECT_EQ(run.code, 0) << run.errors;
    return run;
  }
  static Json json_of(const Words& words) {
    return io::parse_json(run(words + Words{"--json"}).output, "output");
  }

  TemporaryFolder folder_;
  std::string pairs_ = folder_.put("pairs.tsv", kPairs);
};

Words keys_of(const Json& object) {
  Words keys;
  for (const auto& [name, value] : *object.object()) keys.push_back(name);
  return keys;
}

// Others may stand beside them.
void expect_keys(const Json& object, const Words& expected) {
  Words keys = keys_of(object);
  ASSERT_GE(keys.size(), expected.size());
  for (const std::string& key : expected)
    EXPECT_NE(std::ranges::find(keys, key), keys.end()) << key << " is missing";
}

std::vector<Words> csv_lines(const std::string& text) {
  std::vector<Words> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find("\r\n", begin);
    EXPECT_NE(end, std::string::npos);
    if (end == std::string::npos) break;
    Words& fields = lines.emplace_back(1);
    for (size_t at = begin; at < end; ++at)
      text[at] == ',' ? fields.emplace_back() : fields.back().append(1, text[at]);
    begin = end + 2;
  }
  return lines;
}

TEST_F(Heads, are_scored_with_the_keys_that_are_promised) {
  const Json json = json_of(with_data("score"));
  expect_keys(json, {"heads", "examples", "loss"});
  EXPECT_EQ(json.find("examples")->integer(), 3);
  const Json::Array& heads = *json.find("heads")->array();
  ASSERT_FALSE(heads.empty());
  for (const Json& head : heads) {
    expect_keys(head,
                {"head", "gradient", "gradient_signed", "entropy", "confidence", "mean_distance",
                 "previous", "duplicate", "induction", "prefix_matching", "copying", "role"});
  }
  // Rows of cross-attention have no tokens before them.
  const auto cross = std::ranges::find_if(heads, [](const Json& head) {
    return head.find("head")->text()->find(".cross.") != std::string::npos;
  });
  ASSERT_NE(cross, heads.end());
  EXPECT_TRUE(cross->find("previous")->is_null());
}

TEST_F(Heads, scores_as_csv_are_those_of_json) {
  const Json json = json_of(with_data("score"));
  const std::vector<Words> lines = csv_lines(run(with_data("score", {"--csv"})).output);
  const Json::Array& heads = *json.find("heads")->array();
  ASSERT_EQ(lines.size(), heads.size() + 1);
  for (size_t i = 0; i < heads.size(); ++i) {
    ASSERT_EQ(lines[i + 1].size(), lines[0].size());
    for (const char* name : {"head", "gradient", "entropy", "previous", "copying", "role"}) {
      const auto column = static_cast<size_t>(std::ranges::find(lines[0], name) - lines[0].begin());
      ASSERT_LT(column, lines[0].size()) << name;
      const Json& value = *heads[i].find(name);
      const std::string expected = value.is_null()           ? ""
                                   : value.text() != nullptr ? *value.text()
                                                             : io::json_text(value);
      EXPECT_EQ(lines[i + 1][column], expected) << name;
    }
  }
}

TEST_F(Heads, are_ablated_with_the_keys_that_are_promised) {
  for (const char* by : {"zero", "mean", "resample"}) {
    const Json json = json_of(with_data("ablate", {"--by", by, "--greedy", "--all-but-one"}));
    expect_keys(json, {"loss", "heads"});
    EXPECT_EQ(*json.find("by")->text(), by);
    for (const Json& head : *json.find("heads")->array()) {
      expect_keys(head, {"head", "loss", "change"});
      EXPECT_NEAR(*head.find("loss")->number() - *json.find("loss")->number(),
                  *head.find("change")->number(), 1e-12);
    }
    EXPECT_FALSE(json.find("greedy")->array()->empty());
    EXPECT_FALSE(json.find("all_but_one")->array()->empty());
  }
}

TEST_F(Heads, that_look_from_one_word_to_another_are_found) {
  const Json json = json_of(with_data("find", {"--from", "thrones", "--to", "play"}));
  expect_keys(json, {"pairs", "heads"});
  double before = INFINITY;
  for (const Json& head : *json.find("heads")->array()) {
    expect_keys(head, {"head", "weight", "chance", "interval", "ablated_change"});
    const double weight = head.find("weight")->number().value_or(-1);
    EXPECT_LE(weight, before);
    before = weight;
  }
  EXPECT_EQ(json.find("heads")->array()->front().find("interval")->array()->size(), 2U);
  const std::string pairs =
      folder_.put("words.tsv", "When you play the game of thrones\tthrones\tplay\n");
  EXPECT_EQ(json_of(thrones("find", {"--pairs", pairs})).find("pairs")->integer().value_or(0) > 0,
            true);
}

TEST_F(Heads, are_attributed_with_the_keys_that_are_promised) {
  const Json json =
      json_of(thrones("attribute", {"--source", "When you play the game of thrones", "--prompt",
                                    "you", "--word", "win", "--against", "die", "--lens"}));
  expect_keys(json, {"measured", "parts", "sum"});
  double sum = 0;
  for (const Json& part : *json.find("parts")->array()) {
    expect_keys(part, {"part", "value"});
    sum += *part.find("value")->number();
  }
  EXPECT_NEAR(sum, *json.find("sum")->number(), 1e-9);
  EXPECT_NEAR(sum, *json.find("measured")->number(), 1e-3);
  EXPECT_FALSE(json.find("lens")->find("layers")->array()->empty());
}

TEST_F(Heads, are_patched_with_the_keys_that_are_promised) {
  const Words patch =
      thrones("patch", {"--clean", "When you play the game of thrones", "--corrupt",
                        "When the sun rises over the sea", "--word", "you", "--against", "the"});
  const Json json = json_of(patch);
  expect_keys(json, {"clean", "corrupt", "direction", "correlation", "heads"});
  for (const Json& head : *json.find("heads")->array())
    expect_keys(head, {"head", "position", "restored", "estimated"});
  EXPECT_EQ(*json.find("direction")->text(), "clean_into_corrupt");
  EXPECT_EQ(*json_of(patch + Words{"--direction", "corrupt-into-clean"}).find("direction")->text(),
            "corrupt_into_clean");
}

// Of a model without a tokenizer: rows of ids, what is right there, and pairs of positions.
TEST_F(Heads, are_measured_on_arrays_of_ids) {
  const std::string ids = folder_.put("ids.csv", "5,9,12,5,9\n7,8,30,7,8\n");
  const std::string targets = folder_.put("targets.csv", "-1,-1,-1,9,12\n-1,-1,-1,8,30\n");
  const Words given = {"--ids", ids, "--targets", targets};
  const Json ablated = json_of(Words{"heads", "ablate", "repeats"} + given);
  EXPECT_NE(ablated.find("heads")->array()->front().find("exact_match"), nullptr);
  const Json forward = json_of(Words{"forward", "repeats"} + given);
  EXPECT_NEAR(*ablated.find("loss")->number(), *forward.find("loss")->number(), 1e-5);
  EXPECT_EQ(json_of(Words{"heads", "score", "repeats"} + given).find("examples")->integer(), 2);
  const std::string pairs = folder_.put("pairs.csv", "0,3,1\n1,4,2\n");
  const Words find = {"heads", "find", "repeats", "--ids", ids, "--pairs", pairs};
  EXPECT_EQ(json_of(find).find("pairs")->integer(), 2);
  const auto wrong = [&](const Words& more, int code, const std::string& part) {
    SCOPED_TRACE(part);
    expect_one_line(run_program(Words{"heads", "ablate", "repeats"} + more), code, part);
  };
  wrong({"--ids", ids, "--data", pairs_}, 2, "--data: has no meaning");
  wrong({"--ids", ids, "--task", "copy"}, 2, "--task: has no meaning");
  wrong({"--targets", ids}, 2, "--targets: needs --ids");
  wrong({"--ids", pairs_}, 2, "--ids");
  wrong({"--ids", folder_.put("far.csv", "5,900\n")}, 3, "900");
  wrong({"--ids", ids, "--targets", targets, "--svg", targets}, 2, "--targets");
  expect_one_line(run_program(find + Words{"--from", "ka", "--to", "lo"}), 2, "--from");
  expect_one_line(run_program({"heads", "find", "repeats", "--ids", ids}), 2, "--from: is missing");
}

// Every experiment once, with the words that it needs.
std::vector<Words> experiments(const std::string& data) {
  return {{"heads", "score", "thrones", "--data", data},
          {"heads", "ablate", "thrones", "--data", data, "--greedy"},
          {"heads", "find", "thrones", "--data", data, "--from", "thrones", "--to", "play"},
          {"heads", "attribute", "thrones", "--source", "When you play the game of thrones",
           "--word", "you", "--lens"},
          {"heads", "patch", "thrones", "--clean", "When you play the game of thrones", "--corrupt",
           "When the sun rises over the sea", "--word", "you", "--against", "the"}};
}

TEST_F(Heads, fit_terminals_of_any_width_in_every_language) {
  for (const Words& words : experiments(pairs_)) {
    for (const char* language : {"en", "tr", "az", "ko"}) {
      for (const int columns : {40, 80, 120}) {
        Terminal terminal(words + Words{"--lang", language}, {.columns = columns});
        EXPECT_EQ(terminal.finish(), 0);
        EXPECT_EQ(terminal.screen().broken_lines(), Words{}) << words[1] << " " << language;
      }
    }
  }
}

TEST_F(Heads, leave_all_documents_in_a_folder) {
  size_t number = 0;
  for (const Words& words : experiments(pairs_)) {
    const std::string name = "out" + std::to_string(number++);
    const ProgramRun told = run(words + Words{"--out", folder_ / name, "--json", "--quiet"});
    EXPECT_EQ(told.errors, "");
    EXPECT_EQ(folder_.get(name + "/result.json"), told.output);
    EXPECT_EQ(folder_.get(name + "/result.csv"), run(words + Words{"--csv"}).output);
    EXPECT_TRUE(folder_.get(name + "/result.svg").starts_with("<svg xmlns"));
    EXPECT_TRUE(folder_.get(name + "/result.html").starts_with("<!doctype html>"));
    expect_one_line(run_program(words + Words{"--out", folder_ / name}), 3, "is there already");
  }
}

TEST_F(Heads, are_the_same_for_any_number_of_threads) {
  for (const Words& words : experiments(pairs_)) {
    EXPECT_EQ(run(words + Words{"--json", "--threads", "1"}).output,
              run(words + Words{"--json", "--threads", "2"}).output);
  }
}

TEST_F(Heads, interrupted_ablations_go_on_to_the_same_result) {
  const std::string ids = folder_.put("ids.csv", "5,9,12,5,9\n7,8,30,7,8\n");
  const std::string targets = folder_.put("targets.csv", "-1,-1,-1,9,12\n-1,-1,-1,8,30\n");
  const Words more = {"--greedy", "--all-but-one", "--json"};
  // Of losses alone, and with another metric beside them.
  const std::vector<Words> ablations = {
      with_data("ablate", more),
      Words{"heads", "ablate", "repeats", "--ids", ids, "--targets", targets} + more};
  for (const Words& words : ablations) {
    const std::string name = "out-" + words[2];
    const std::string whole = run(words).output;
    const Words kept = words + Words{"--out", folder_ / name, "--quiet"};
    run(kept);
    const Json state = io::parse_json(folder_.get(name + "/experiment.json"), "state");
    const Json::Object finished = *state.find("finished")->object();
    ASSERT_GT(finished.size(), 4U);
    const auto put_state = [&](const Json::Object& parts) {
      folder_.put(
          name + "/experiment.json",
          io::json_text(Json::Object{
              {"experiment", 1}, {"request", *state.find("request")}, {"finished", parts}}));
    };
    // The state as an interruption leaves it: some of the parts.
    put_state(Json::Object(finished.begin(), finished.begin() + std::ssize(finished) / 2));
    EXPECT_EQ(run(kept + Words{"--resume"}).output, whole);
    EXPECT_EQ(folder_.get(name + "/result.json"), whole);
    // What is there is taken and not measured again.
    Json::Object changed = finished;
    changed.front().second = Json::Object{{"loss", 77.25}};
    put_state(changed);
    EXPECT_NE(run(kept + Words{"--resume"}).output.find("77.25"), std::string::npos);
  }
}

TEST_F(Heads, a_signal_saves_what_is_finished) {
  const Words words = {"heads", "ablate", "numbers", "--examples", "8", "--json"};
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

TEST_F(Heads, experiments_go_on_only_with_what_they_were_begun_with) {
  const Words words = with_data("ablate", {"--out", folder_ / "out", "--quiet"});
  run(words);
  expect_one_line(run_program(words + Words{"--resume", "--by", "mean"}), 3,
                  "by is \"mean\", the experiment there was begun with \"zero\"");
  expect_one_line(run_program(words + Words{"--resume", "--examples", "2"}), 3, "examples is 2");
  expect_one_line(run_program(words + Words{"--resume", "--seed", "5"}), 3, "seed is 5");
  folder_.put("pairs.tsv", std::string(kPairs) + "When you play\tyou win\n");
  expect_one_line(run_program(words + Words{"--resume"}), 3, "data is");
  expect_one_line(run_program(with_data("ablate", {"--resume"})), 2, "--out");
}

TEST_F(Heads, wrong_use_is_told_in_one_line) {
  const auto wrong = [](const Words& words, int code, const std::string& part) {
    SCOPED_TRACE(part);
    expect_one_line(run_program(words), code, part);
  };
  wrong({"heads"}, 2, "score, ablate");
  wrong({"heads", "scroe", "thrones"}, 2,
        "unknown heads command (\"scroe\"): the nearest is score; `headlight heads --help`");
  wrong({"heads", "score"}, 2, "MODEL: is missing: `headlight heads score MODEL`");
  wrong({"heads", "score", "thrones", "thrones"}, 2, "heads score takes one MODEL and options");
  wrong({"heads", "score", "thornes"}, 3, "thornes");
  wrong(thrones("score"), 3, "data");
  wrong(thrones("score", {"--task", "translate"}), 2, "--data: is missing");
  wrong(thrones("score", {"--data", folder_ / "none"}), 3, "none");
  wrong(thrones("score", {"--task", "numbers", "--data", pairs_}), 2, "makes its own data");
  wrong(with_data("score", {"--json", "--csv"}), 2, "--csv");
  wrong(with_data("score", {"--examples", "0"}), 2, "--examples");
  wrong(with_data("score", {"--svg", pairs_}), 2, "is the file of --data");
  wrong(with_data("score", {"--svg", folder_ / "no/x.svg"}), 1, "there is no directory");
  wrong(with_data("score", {"--grads", "x"}), 2, "unknown option");
  wrong(with_data("ablate", {"--by", "half"}), 2, "--by");
  wrong(with_data("find"), 2, "--from: is missing");
  wrong(with_data("find", {"--from", "a"}), 2, "--to");
  wrong(with_data("find", {"--from", "zebra", "--to", "play"}), 3, "zebra");
  wrong(thrones("attribute", {"--word", "you"}), 2, "--prompt: is missing");
  wrong(thrones("attribute", {"--source", "When you play"}), 2, "--word: is missing");
  wrong(thrones("attribute", {"--source", "When you play", "--word", "zebra"}), 3, "zebra");
  wrong(thrones("attribute", {"--source", "When you play", "--word", "you", "--at", "9"}), 3, "9");
  wrong(thrones("attribute", {"--source", "When you play", "--word", "you", "--against", "you"}), 3,
        "same token");
  wrong(thrones("patch", {"--clean", "When you play", "--corrupt", "When you", "--word", "you",
                          "--against", "the"}),
        3, "the clean text has 3 and the corrupted one 2");
}

TEST_F(Heads, help_begins_with_examples_and_lists_every_command) {
  const std::string help = run({"heads", "--help"}).output;
  EXPECT_LT(help.find("Examples:"), help.find("Commands:"));
  for (const Words& words : experiments(pairs_)) {
    EXPECT_NE(help.find("\n  " + words[1] + " "), std::string::npos) << words[1];
    for (const Words& asked :
         {Words{"heads", words[1], "--help"}, Words{"help", "heads", words[1]},
          Words{"heads", "help", words[1]}, Words{"heads", words[1], "help"}}) {
      const std::string own = run(asked).output;
      EXPECT_TRUE(own.starts_with("headlight heads " + words[1] + ": ")) << own;
      EXPECT_LT(own.find("Examples:"), own.find("Options:"));
      for (size_t begin = 0; begin < own.size();) {
        const size_t end = own.find('\n', begin);
        EXPECT_LE(text::columns(own.substr(begin, end - begin)), 80) << own;
        begin = end + 1;
      }
    }
  }
}

TEST_F(Heads, pages_work_by_clicks_and_keys_in_four_languages) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  for (const Words& words : experiments(pairs_)) {
    SCOPED_TRACE(words[1]);
    run(words + Words{"--html", folder_ / "page.html", "--quiet"});
    for (const WindowSize& screen : {WindowSize{}, WindowSize{360, 640}}) {
      const std::string found = told_in_browser(folder_, folder_.get("page.html"),
                                                test_script("heads_page_check.js"), screen);
      EXPECT_NE(found.find("wrong: 0"), std::string::npos) << found;
    }
  }
}

}  // namespace
}  // namespace headlight::test
