// `headlight heads gates`, `prune`, `curve` and `bench`: folders of smaller models that every
// command takes, and documents.
#include "tests/cli/heads_pruning.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/cli/arrays.h"
#include "tests/cli/browser.h"
#include "tests/cli/model_folders.h"
#include "tests/cli/terminal.h"

namespace headlight::test {
namespace {

using io::Json;

// Keys of `expected` that an object does not have.
Words missing_keys(const Json& object, const Words& expected) {
  Words missing;
  for (const std::string& key : expected) {
    if (object.find(key) == nullptr) missing.push_back(key);
  }
  return missing;
}

std::set<std::string> head_names_in(const Json& list) {
  std::set<std::string> names;
  for (const Json& one : *list.array()) names.insert(*one.find("head")->text());
  return names;
}

uint64_t file_bytes(const std::string& path) { return std::filesystem::file_size(path); }

TEST_F(HeadsPruning, gates_leave_a_folder_without_the_heads_whose_gates_closed) {
  const Words words = {"heads", "gates",   "thrones", "--data", pairs_,           "--penalty",
                       "2",     "--steps", "60",      "--out",  folder_ / "gated"};
  const Json json = json_of(words);
  EXPECT_EQ(missing_keys(json, {"penalty", "steps", "expected_open", "open", "heads", "before",
                                "gated", "binary", "bytes"}),
            Words{});
  EXPECT_EQ(json.find("steps")->integer(), 60);
  std::set<std::string> open;
  for (const Json& head : *json.find("heads")->array()) {
    EXPECT_EQ(missing_keys(head, {"head", "log_alpha", "probability", "value", "open"}), Words{});
    if (*head.find("open")->boolean()) open.insert(*head.find("head")->text());
  }
  EXPECT_EQ(static_cast<int64_t>(open.size()), json.find("open")->integer());
  ASSERT_LT(open.size(), json.find("heads")->array()->size()) << "some must close for this test";
  ASSERT_FALSE(open.empty());
  const Json scored =
      json_of({"heads", "score", folder_ / "gated", "--data", pairs_, "--examples", "4"});
  EXPECT_EQ(head_names_in(*scored.find("heads")), open);
  EXPECT_FALSE(*json.find("trained_weights")->boolean());
  EXPECT_TRUE(*json_of(gates({"--train-weights"})).find("trained_weights")->boolean());
}

TEST_F(HeadsPruning, every_method_keeps_the_asked_share_in_a_smaller_folder) {
  for (const char* by : {"gradient", "ablation", "entropy", "gates", "random"}) {
    SCOPED_TRACE(by);
    const std::string out = new_folder();
    const Json json = json_of({"heads", "prune", "thrones", "--keep", "0.67", "--by", by, "--data",
                               pairs_, "--examples", "6", "--out", out});
    EXPECT_EQ(missing_keys(json, {"by", "heads", "kept", "removed", "same_shape", "parameters",
                                  "before", "pruned", "bytes"}),
              Words{});
    EXPECT_EQ(*json.find("by")->text(), by);
    EXPECT_EQ(json.find("finetuned"), nullptr);
    EXPECT_EQ(json.find("heads")->integer(), 6);
    EXPECT_EQ(json.find("kept")->integer(), 4);
    const std::set<std::string> removed = head_names_in(*json.find("removed"));
    EXPECT_EQ(removed.size(), 2U);
    EXPECT_LT(*json.find("parameters")->find("after")->integer(),
              *json.find("parameters")->find("before")->integer());
    EXPECT_LT(*json.find("bytes")->find("after")->integer(),
              *json.find("bytes")->find("before")->integer());
    const Json config = io::parse_json(text_of(out + "/config.json"), "config");
    ASSERT_NE(config.find("headlight_heads"), nullptr);
    for (const auto& [place, left] : *config.find("headlight_heads")->object()) {
      for (const Json& head : *left.array())
        EXPECT_FALSE(removed.contains(place + "." + std::to_string(*head.integer())));
    }
  }
}

TEST_F(HeadsPruning, fine_tuning_is_measured_and_is_what_the_folder_holds) {
  const std::string out = new_folder();
  const Json json = json_of({"heads", "prune", "thrones", "--keep", "0.5", "--data", pairs_,
                             "--finetune", "10", "--out", out});
  const double tuned = *json.find("finetuned")->find("loss")->number();
  EXPECT_LT(tuned, *json.find("pruned")->find("loss")->number());
  // Pruning nothing more measures what was written.
  const Json again =
      json_of({"heads", "prune", out, "--keep", "1", "--data", pairs_, "--out", new_folder()});
  EXPECT_EQ(*again.find("before")->find("loss")->number(), tuned);
}

TEST_F(HeadsPruning, named_heads_need_no_data) {
  const std::string out = new_folder();
  const Json json = json_of({"heads", "prune", "thrones", "--heads-off",
                             "decoder.0.cross.1,encoder.0.self.0", "--out", out});
  EXPECT_TRUE(json.find("by")->is_null());
  EXPECT_EQ(json.find("before"), nullptr);
  EXPECT_EQ(head_names_in(*json.find("removed")),
            (std::set<std::string>{"decoder.0.cross.1", "encoder.0.self.0"}));
  const std::string told =
      run({"heads", "prune", "thrones", "--heads-off", "decoder.0.cross.1", "--out", new_folder()})
          .output;
  EXPECT_NE(told.find("Nothing was measured"), std::string::npos) << told;
}

TEST_F(HeadsPruning, models_without_a_tokenizer_are_measured_on_ids) {
  std::vector<int64_t> numbers(40 * 6);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i * i % 7);
  const std::string ids = folder_ / "ids.npy";
  io::write_array(base::real_files(), ids, tensor::Tensor::of({40, 6}, numbers));
  const std::string model = model_folders().bare_gpt();
  const Words of_ids = {"--ids", ids, "--targets", ids};
  const Json json = json_of(Words{"heads", "prune", model, "--keep", "0.5", "--finetune", "2",
                                  "--html", folder_ / "page.html", "--out", new_folder()} +
                            of_ids);
  EXPECT_NE(json.find("finetuned")->find("exact_match"), nullptr);
  json_of(
      Words{"heads", "gates", model, "--penalty", "0.001", "--steps", "3", "--out", new_folder()} +
      of_ids);
  const Json curves = json_of(Words{"heads", "curve", model, "--shares", "0,1", "--methods",
                                    "gradient", "--finetune", "1"} +
                              of_ids);
  EXPECT_EQ(*curves.find("metric")->text(), "exact_match");
  expect_one_line(run_program(Words{"heads", "curve", model, "--data", pairs_} + of_ids), 2,
                  "the examples are those of --ids");
}

TEST_F(HeadsPruning, the_same_shape_gives_the_same_numbers_without_new_entries) {
  const std::string heads = "decoder.0.cross.1,encoder.0.self.0";
  const std::string small = new_folder(), same = new_folder();
  run({"heads", "prune", "thrones", "--heads-off", heads, "--out", small});
  const Json json =
      json_of({"heads", "prune", "thrones", "--heads-off", heads, "--same-shape", "--out", same});
  EXPECT_EQ(*json.find("same_shape")->boolean(), true);
  EXPECT_EQ(text_of(same + "/config.json").find("headlight"),
            text_of(same + "/config.json").find("headlight-seq2seq"));
  EXPECT_GT(file_bytes(same + "/model.safetensors"), file_bytes(small + "/model.safetensors"));
  const auto ids = tensor::Tensor::of({1, 4}, std::vector<int64_t>{5, 6, 7, 8});
  io::write_array(base::real_files(), folder_ / "ids.npy", ids);
  const auto logits = [&](const std::string& model, const Words& more) {
    const std::string out = folder_ / "logits.npy";
    run(Words{"forward", model, "--ids", folder_ / "ids.npy", "--source-ids", folder_ / "ids.npy",
              "--logits", out} +
        more);
    return read_floats(out);
  };
  const tensor::Tensor gated = logits("thrones", {"--heads-off", heads});
  EXPECT_LE(distance(logits(same, {}), gated), 1e-5);
  EXPECT_LE(distance(logits(small, {}), gated), 1e-5);
}

TEST_F(HeadsPruning, a_pruned_folder_goes_through_every_command) {
  const std::string out = new_folder();
  const Json json =
      json_of({"heads", "prune", "thrones", "--keep", "0.5", "--data", pairs_, "--out", out});
  const std::set<std::string> removed = head_names_in(*json.find("removed"));
  const std::string sentence = "When you play the game of thrones";
  const std::vector<Words> commands = {
      {"info", out},
      {"translate", out, "--text", sentence},
      {"evaluate", out, "--data", pairs_},
      {"explain", out, "--text", sentence, "--target", "you win or you die"},
      {"train", "--task", "translate", "--data", pairs_, "--init", out, "--out", new_folder(),
       "--max_iters", "2", "--eval_interval", "2", "--quiet"},
      {"heads", "ablate", out, "--data", pairs_, "--examples", "4"},
      {"heads", "find", out, "--data", pairs_, "--from", "thrones", "--to", "play"},
      {"heads", "attribute", out, "--source", sentence, "--word", "you"},
      {"heads", "patch", out, "--clean", sentence, "--corrupt", "When the sun rises over the sea",
       "--word", "you", "--against", "the"},
      {"heads", "gates", out, "--data", pairs_, "--penalty", "0.001", "--steps", "3", "--out",
       new_folder()},
      {"heads", "prune", out, "--keep", "0.7", "--data", pairs_, "--out", new_folder()},
      {"heads", "curve", out, "--data", pairs_, "--methods", "random", "--random-orders", "1",
       "--types", "all", "--shares", "0,1", "--finetune", "0"},
      {"heads", "bench", "thrones", out, "--batches", "1", "--tokens", "4", "--seconds", "0.01"}};
  for (const Words& words : commands) {
    SCOPED_TRACE(words[0] + " " + words[1]);
    EXPECT_FALSE(run(words).output.empty() && words[0] != "train");
  }
  const Json scored = json_of({"heads", "score", out, "--data", pairs_});
  const std::set<std::string> left = head_names_in(*scored.find("heads"));
  EXPECT_EQ(left.size(), static_cast<size_t>(*json.find("kept")->integer()));
  for (const std::string& head : removed) EXPECT_FALSE(left.contains(head)) << head;
  const std::string gone = *removed.begin();
  expect_one_line(run_program({"heads", "prune", out, "--heads-off", gone, "--out", new_folder()}),
                  3, "was pruned");
}

TEST_F(HeadsPruning, curves_have_the_keys_that_are_promised) {
  const Json json = json_of(curve());
  EXPECT_EQ(missing_keys(json, {"curves", "metric", "higher_is_better", "examples"}), Words{});
  std::set<std::string> names;
  std::set<double> whole;
  for (const Json& one : *json.find("curves")->array()) {
    EXPECT_EQ(missing_keys(one, {"method", "type", "finetuned", "points"}), Words{});
    const bool finetuned = *one.find("finetuned")->boolean();
    const bool is_random = *one.find("method")->text() == "random";
    names.insert(*one.find("method")->text() + " " + *one.find("type")->text() +
                 (finetuned ? " tuned" : ""));
    const Json::Array& points = *one.find("points")->array();
    const bool loses_all = *one.find("type")->text() == "all";
    EXPECT_EQ(points.size(), finetuned && loses_all ? 2U : 3U);
    for (const Json& point : points) {
      EXPECT_EQ(missing_keys(point, {"removed", "quality"}), Words{});
      EXPECT_EQ(point.find("low") != nullptr, is_random);
    }
    EXPECT_EQ(*points.front().find("removed")->number(), 0);
    if (!finetuned) whole.insert(*points.front().find("quality")->number());
  }
  EXPECT_EQ(names.size(), 16U) << "two methods, four types, before and after";
  EXPECT_EQ(whole.size(), 1U) << "with nothing removed all are the same";
}

TEST_F(HeadsPruning, curves_of_a_generated_task_measure_exact_matches) {
  run({"train", "--task", "copy", "--n_layer", "1", "--n_embd", "16", "--n_head", "2",
       "--batch_size", "8", "--max_iters", "2", "--out", folder_ / "copy", "--quiet"});
  const Json json = json_of({"heads", "curve", folder_ / "copy", "--task", "copy", "--examples",
                             "8", "--methods", "entropy", "--shares", "0,1", "--finetune", "0"});
  EXPECT_EQ(*json.find("metric")->text(), "exact_match");
  for (const Json& one : *json.find("curves")->array())
    EXPECT_FALSE(*one.find("finetuned")->boolean());
}

TEST_F(HeadsPruning, bench_puts_what_was_measured_beside_the_bound) {
  const Json json = json_of(bench());
  const Json::Array& rows = *json.find("rows")->array();
  ASSERT_EQ(rows.size(), 4U);
  for (const Json& row : rows) {
    EXPECT_EQ(missing_keys(
                  row, {"batch", "tokens", "bound", "measured", "low", "high", "saved", "reason"}),
              Words{});
    EXPECT_GT(*row.find("bound")->number(), 1);
    EXPECT_LE(*row.find("low")->number(), *row.find("measured")->number());
    EXPECT_GE(*row.find("high")->number(), *row.find("measured")->number());
  }
  const Json same = json_of({"heads", "bench", "thrones", "thrones", "--batches", "1", "--tokens",
                             "4", "--seconds", "0.01"});
  EXPECT_EQ(*same.find("rows")->array()->front().find("bound")->number(), 1);
}

TEST_F(HeadsPruning, results_are_the_same_for_any_number_of_threads) {
  std::set<std::string> gated, pruned, curves, weights;
  for (const char* threads : {"1", "2", "4"}) {
    const Words how = {"--json", "--threads", threads};
    const Words small = prune({"--finetune", "3"});
    gated.insert(run(gates() + how).output);
    pruned.insert(run(small + how).output);
    curves.insert(run(curve() + how).output);
    weights.insert(text_of(out_of(small) + "/model.safetensors"));
  }
  EXPECT_EQ(gated.size(), 1U);
  EXPECT_EQ(pruned.size(), 1U);
  EXPECT_EQ(curves.size(), 1U);
  EXPECT_EQ(weights.size(), 1U);
}

TEST_F(HeadsPruning, tables_fit_terminals_of_any_width_in_every_language) {
  for (const char* language : {"en", "tr", "az", "ko"}) {
    for (const int columns : {40, 80, 120}) {
      for (const Words& words : all_commands()) {
        Terminal terminal(words + Words{"--lang", language}, {.columns = columns});
        EXPECT_EQ(terminal.finish(), 0);
        EXPECT_EQ(terminal.screen().broken_lines(), Words{}) << words[1] << " " << language;
      }
    }
  }
}

TEST_F(HeadsPruning, say_what_to_type_next) {
  const Words words = prune();
  const ProgramRun told = run_program(words, {.set = {"HEADLIGHT_STARTED_AS=./run"}});
  EXPECT_NE(told.output.find("./run heads bench thrones"), std::string::npos) << told.output;
  EXPECT_NE(told.output.find("Folder") != std::string::npos ||
                told.output.find("folder") != std::string::npos,
            false)
      << told.output;
}

TEST_F(HeadsPruning, curves_and_speeds_leave_all_documents_in_a_folder) {
  for (const Words& words : {curve(), bench()}) {
    const std::string name = "out-" + words[1];
    const ProgramRun told = run(words + Words{"--out", folder_ / name, "--json", "--quiet"});
    EXPECT_EQ(told.errors, "");
    EXPECT_EQ(folder_.get(name + "/result.json"), told.output);
    EXPECT_TRUE(folder_.get(name + "/result.svg").starts_with("<svg xmlns"));
    EXPECT_TRUE(folder_.get(name + "/result.html").starts_with("<!doctype html>"));
    EXPECT_NE(folder_.get(name + "/result.csv").find("\r\n"), std::string::npos);
    expect_one_line(run_program(words + Words{"--out", folder_ / name}), 3, "is there already");
  }
  EXPECT_EQ(folder_.get("out-curve/result.csv"), run(curve({"--csv"})).output);
}

TEST_F(HeadsPruning, pages_work_by_clicks_and_keys_in_four_languages) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  std::vector<Words> pages = all_commands();
  run({"heads", "prune", "thrones", "--heads-off", "decoder.0.self.0", "--out", folder_ / "five"});
  pages.push_back(Words{"heads", "score", folder_ / "five", "--data", pairs_});
  for (const Words& words : pages) {
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
