// `headlight train`: what it says, what it leaves, how it is resumed, which setting counts.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "tests/cli/train_runs.h"

namespace headlight::test {
namespace {

// Words of a small language, so that there is something to learn.
std::string play(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += "so it goes, said she; " + std::to_string(i % 7) + "\n";
  return text;
}
std::string pairs(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "word " + std::to_string(i) + "\tsöz " + std::to_string(i) + "\tnobody\n";
  return text;
}

double number(const io::Json& event, const std::string& key) {
  const io::Json* value = event.find(key);
  if (value && value->number()) return *value->number();
  ADD_FAILURE() << key << " is missing in " << io::json_text(event);
  return std::nan("");
}

class Training : public testing::Test {
 protected:
  Words small_lm(const std::string& name) {
    return {"train", "--task",          "lm",       "--data", folder_.put("play.txt", play(60)),
            "--out", folder_ / name,    "--preset", "tiny",   "--max_iters",
            "20",    "--eval_interval", "10"};
  }
  io::Json run_json(const std::string& name) {
    return io::parse_json(folder_.get(name + "/run.json"), name);
  }
  TemporaryFolder folder_;
};

TEST_F(Training, tells_every_event_as_a_line_of_json) {
  const ProgramRun run = run_program(small_copy(folder_ / "run") + Words{"--json"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.errors, "");
  std::set<std::string> names;
  for (const io::Json& event : events_of(run.output)) {
    names.insert(*event.find("event")->text());
    EXPECT_TRUE(event.find("step")->integer());
  }
  EXPECT_EQ(names, (std::set<std::string>{"start", "step", "eval", "checkpoint", "done"}));
  const io::Json start = events_called("start", run.output)[0];
  EXPECT_GT(number(start, "parameters"), 1000);
  EXPECT_EQ(number(start, "steps"), 30);
  EXPECT_GE(number(start, "estimated_seconds"), 0);
  EXPECT_TRUE(start.find("data") && start.find("memory"));
  for (const io::Json& event : events_called("step", run.output)) {
    EXPECT_GT(number(event, "train_loss"), 0);
    EXPECT_GT(number(event, "tokens_per_second"), 0);
    EXPECT_GT(number(event, "learning_rate"), 0);
  }
  EXPECT_EQ(events_called("checkpoint", run.output).size(), 3u);
  double best = 1e9;
  for (const io::Json& event : events_called("eval", run.output))
    best = std::min(best, number(event, "valid_loss"));
  const io::Json done = events_called("done", run.output)[0];
  EXPECT_EQ(number(done, "best_valid_loss"), best);
  EXPECT_EQ(number(done, "valid_loss"),
            number(events_called("eval", run.output).back(), "valid_loss"));
  EXPECT_GE(number(done, "exact_match"), 0);
  EXPECT_EQ(folder_.get("run/log.jsonl"), run.output);
}

TEST_F(Training, says_plainly_what_it_does_and_where_it_stands) {
  const ProgramRun run = run_program(small_lm("run"));
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.output, "");
  for (const std::string part : {" parameters · ", " tokens · about ", "20 steps · ", " epochs · ",
                                 " of memory · in ", "step 10/20  train loss ", "valid loss",
                                 " left\n", "Done in ", "Try it:\n  headlight generate "})
    EXPECT_NE(run.errors.find(part), std::string::npos) << part << " is not in " << run.errors;
  EXPECT_EQ(run.errors.find('\x1b'), std::string::npos);
  EXPECT_EQ(run.errors.find('\r'), std::string::npos);
}

TEST_F(Training, tells_it_in_the_language_asked_for) {
  const ProgramRun run = run_program(small_lm("run") + Words{"--lang", "tr"});
  ASSERT_EQ(run.code, 0) << run.errors;
  for (const std::string part : {" parametre · ", "adım 10/20  eğitim kaybı ", "Deneyin:"})
    EXPECT_NE(run.errors.find(part), std::string::npos) << part << " is not in " << run.errors;
  EXPECT_EQ(run.errors.find("loss"), std::string::npos) << run.errors;
  const ProgramRun json =
      run_program(small_copy(folder_ / "json") + Words{"--lang", "tr", "--json"});
  EXPECT_EQ(events_called("done", json.output).size(), 1U);
}

// The line after "Try it:", as a shell would read it.
TEST_F(Training, ends_with_a_command_that_works) {
  for (const Words& words : {small_lm("lm"), small_copy(folder_ / "copy", 5)}) {
    const ProgramRun run = run_program(words);
    ASSERT_EQ(run.code, 0) << run.errors;
    const size_t begin = run.errors.find("  headlight ");
    ASSERT_NE(begin, std::string::npos) << run.errors;
    std::string command = run.errors.substr(begin + 12);
    command = "'" + program_path() + "' " + command.substr(0, command.find('\n')) +
              " > /dev/null 2> '" + (folder_ / "errors") + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << command << folder_.get("errors");
  }
}

TEST_F(Training, says_nothing_when_quiet) {
  const ProgramRun run = run_program(small_copy(folder_ / "run") + Words{"--quiet"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.output + run.errors, "");
}

TEST_F(Training, leaves_a_folder_that_other_commands_read) {
  ASSERT_EQ(run_program(small_lm("lm")).code, 0);
  for (const std::string name : {"config.json", "model.safetensors", "tokenizer.json", "log.jsonl",
                                 "run.json", "checkpoint/manifest.json"})
    EXPECT_NE(folder_.get("lm/" + name), "") << name;
  EXPECT_TRUE(folder_.get("lm/curves.svg").ends_with("</svg>\n"));
  const ProgramRun said =
      run_program({"generate", folder_ / "lm", "--prompt", "so", "--max-new-tokens", "5"});
  EXPECT_EQ(said.code, 0) << said.errors;
  EXPECT_NE(said.output, "");
}

TEST_F(Training, of_another_architecture_leaves_a_folder_of_its_type) {
  for (const std::string type : {"llama", "gemma3_text"}) {
    ASSERT_EQ(run_program(small_lm(type) + Words{"--arch", type, "--n_kv_head", "1"}).code, 0);
    EXPECT_EQ(*run_json(type).find("arch"), io::Json(type));
    const io::Json config = io::parse_json(folder_.get(type + "/config.json"), "config");
    EXPECT_EQ(*config.find("model_type"), io::Json(type));
    EXPECT_EQ(*config.find("num_key_value_heads"), io::Json(1));
    const ProgramRun said = run_program({"generate", folder_ / type, "--prompt", "so"});
    EXPECT_EQ(said.code, 0) << said.errors;
  }
}

TEST_F(Training, translates_from_one_file_or_from_two) {
  const Words model = {"--preset", "tiny", "--max_iters", "4", "--tokenizer", "word", "--quiet"};
  const std::string tsv = folder_.put("pairs.tsv", pairs(40));
  EXPECT_EQ(
      run_program(Words{"train", "--task", "translate", "--data", tsv, "--out", folder_ / "one"} +
                  model)
          .code,
      0);
  std::string source, target;
  for (int i = 0; i < 40; ++i) {
    source += "word " + std::to_string(i) + "\r\n";
    target += "söz " + std::to_string(i) + "\n";
  }
  EXPECT_EQ(run_program(Words{"train", "--task", "translate", "--source", folder_.put("s", source),
                              "--target", folder_.put("t", target), "--out", folder_ / "two"} +
                        model)
                .code,
            0);
  EXPECT_TRUE(folder_.get("one/model.safetensors") == folder_.get("two/model.safetensors"));
  EXPECT_EQ(run_program({"translate", folder_ / "one", "--text", "word 3"}).code, 0);
}

TEST_F(Training, begins_with_the_model_it_is_given) {
  ASSERT_EQ(run_program(small_lm("first")).code, 0);
  const Words further = {"train",  "--task",          "lm",          "--data", folder_ / "play.txt",
                         "--init", folder_ / "first", "--max_iters", "4",      "--json"};
  const ProgramRun run = run_program(further + Words{"--out", folder_ / "second"});
  ASSERT_EQ(run.code, 0) << run.errors;
  const double before =
      number(events_called("done", folder_.get("first/log.jsonl"))[0], "best_valid_loss");
  EXPECT_LT(number(events_called("done", run.output)[0], "valid_loss"), before + 0.3);
  EXPECT_EQ(run_program(further + Words{"--out", folder_ / "third", "--block_size", "8"}).code, 0);
  expect_one_line(run_program(further + Words{"--out", folder_ / "fourth", "--block_size", "33"}),
                  3, "block_size (33): the model of --init reads 32 tokens");
  const ProgramRun noam =
      run_program(further + Words{"--out", folder_ / "noam", "--schedule", "noam"});
  EXPECT_EQ(noam.code, 0) << noam.errors;
}

TEST_F(Training, begins_with_a_model_that_comes_with_the_program) {
  const ProgramRun run = run_program({"train", "--task", "numbers", "--init", "numbers",
                                      "--max_iters", "1", "--batch_size", "4", "--learning_rate",
                                      "1e-9", "--out", folder_ / "run", "--json"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_GT(number(events_called("done", run.output)[0], "exact_match"), 0.9);
}

TEST_F(Training, ends_no_higher_than_it_begins_whatever_its_defaults_say) {
  const ProgramRun run = run_program(small_lm("run") + Words{"--learning_rate", "1e-5", "--quiet"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(*run_json("run").find("min_lr"), io::Json(1e-5));
}

TEST_F(Training, stops_when_it_diverges_and_keeps_the_last_checkpoint) {
  const Words wild = {"--optimizer", "sgd",      "--grad_clip",    "0", "--learning_rate", "1000",
                      "--schedule",  "constant", "--warmup_iters", "15"};
  Words words = small_copy(folder_ / "run") + wild;
  // Good until the rate has risen.
  *(std::find(words.begin(), words.end(), "--eval_interval") + 1) = "1";
  const ProgramRun run = run_program(words + Words{"--quiet"});
  expect_one_line(run, 1, "diverged: the ");
  const std::string kept = folder_.get("run/checkpoint/manifest.json");
  ASSERT_NE(kept, "");
  EXPECT_NE(run.errors.find("a lower learning_rate"), std::string::npos);
  // What is left can be gone on with, and comes to the same end.
  expect_one_line(run_program({"train", "--out", folder_ / "run", "--resume", "--quiet"}), 1,
                  "diverged: the ");
  EXPECT_EQ(folder_.get("run/checkpoint/manifest.json"), kept);
}

TEST_F(Training, stops_when_patience_ends) {
  const ProgramRun run =
      run_program(small_copy(folder_ / "run", 1000) +
                  Words{"--patience", "2", "--learning_rate", "1e-30", "--min_lr", "0", "--json"});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_LT(number(events_called("done", run.output)[0], "step"), 1000);
}

TEST_F(Training, is_resumed_with_what_it_was_started_with) {
  const Words resume = {"train", "--out", folder_ / "run", "--resume", "--quiet"};
  ASSERT_EQ(run_program(small_copy(folder_ / "run") + Words{"--seed", "5"}).code, 0);
  const Words changes = {"n_layer=2",         "seed=6",      "learning_rate=0.5",  "task=reverse",
                         "batch_size=9",      "dropout=0.5", "optimizer=sgd",      "norm=post",
                         "lr_decay_iters=31", "preset=tiny", "label_smoothing=0.1"};
  for (const std::string& change : changes) {
    SCOPED_TRACE(change);
    const std::string key = change.substr(0, change.find('='));
    const ProgramRun run = run_program(resume + Words{"--" + change});
    expect_one_line(run, 3, "(" + key + "): was ");
    EXPECT_NE(run.errors.find("and is now"), std::string::npos) << run.errors;
    EXPECT_NE(run.errors.find(change.substr(key.size() + 1)), std::string::npos) << run.errors;
  }
  EXPECT_EQ(run_program(resume + Words{"--n_layer", "1", "--max_iters", "40", "--eval_interval",
                                       "5", "--log_interval", "7", "--patience", "9"})
                .code,
            0);
  EXPECT_EQ(*run_json("run").find("max_iters")->integer(), 40);
  EXPECT_EQ(*run_json("run").find("n_embd")->integer(), 16);
}

TEST_F(Training, is_not_resumed_on_other_data) {
  ASSERT_EQ(run_program(small_lm("run")).code, 0);
  const Words resume = {"train", "--out", folder_ / "run", "--resume", "--max_iters", "25"};
  folder_.put("play.txt", play(60) + "and on\n");
  expect_one_line(run_program(resume), 3, "the data have changed");
  folder_.put("play.txt", play(60));
  EXPECT_EQ(run_program(resume).code, 0);
}

TEST_F(Training, is_not_resumed_on_another_translation_or_validation) {
  std::string source, target;
  for (int i = 0; i < 40; ++i) {
    source += "word " + std::to_string(i) + "\n";
    target += "söz " + std::to_string(i) + "\n";
  }
  const std::string valid = folder_.put("valid.tsv", pairs(5));
  folder_.put("target", target);
  ASSERT_EQ(run_program({"train", "--task", "translate", "--source", folder_.put("source", source),
                         "--target", folder_ / "target", "--valid", valid, "--out", folder_ / "run",
                         "--preset", "tiny", "--max_iters", "2", "--tokenizer", "char"})
                .code,
            0);
  const Words resume = {"train", "--out", folder_ / "run", "--resume"};
  std::string other = target;
  folder_.put("target", other.replace(other.find("7"), 1, "8"));
  expect_one_line(run_program(resume), 3, "the data have changed");
  folder_.put("target", target);
  folder_.put("valid.tsv", pairs(4));
  expect_one_line(run_program(resume), 3, "the data have changed");
  folder_.put("valid.tsv", pairs(5));
  EXPECT_EQ(run_program(resume).code, 0);
}

TEST_F(Training, starts_when_there_is_nothing_to_resume) {
  ASSERT_EQ(run_program(small_copy(folder_ / "missing") + Words{"--resume"}).code, 0);
  std::filesystem::create_directory(folder_ / "empty");
  ASSERT_EQ(run_program(small_copy(folder_ / "empty") + Words{"--resume"}).code, 0);
  EXPECT_TRUE(result_of(folder_, "missing") == result_of(folder_, "empty"));
}

// All that a folder holds.
std::string all_bytes_in(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path()] = {std::istreambuf_iterator<char>(file), {}};
  }
  std::string all;
  for (const auto& [name, bytes] : files) all += name + "\n" + bytes + "\n";
  return all;
}

TEST_F(Training, is_not_started_anew_over_a_model_whose_manifest_is_lost) {
  ASSERT_EQ(run_program(small_copy(folder_ / "run")).code, 0);
  const Words resume = {"train", "--out", folder_ / "run", "--resume", "--max_iters", "40"};
  std::filesystem::rename(folder_ / "run/checkpoint/manifest.json", folder_ / "kept.json");
  const std::string before = all_bytes_in(folder_ / "run");
  expect_one_line(run_program(resume), 3,
                  "run/checkpoint/manifest.json): is missing beside a trained model, which a new "
                  "start would overwrite; put it back, or train in another folder with init ");
  EXPECT_TRUE(all_bytes_in(folder_ / "run") == before);
  std::filesystem::rename(folder_ / "kept.json", folder_ / "run/checkpoint/manifest.json");
  EXPECT_EQ(run_program(resume).code, 0);
}

TEST_F(Training, that_is_past_its_end_already_says_so_and_changes_nothing) {
  ASSERT_EQ(run_program(small_copy(folder_ / "run")).code, 0);
  const std::string before = all_bytes_in(folder_ / "run");
  const Words resume = {"train", "--out", folder_ / "run", "--resume", "--max_iters"};
  expect_one_line(run_program(resume + Words{"3"}), 3, "--max-iters (3): the run in ");
  expect_one_line(run_program(resume + Words{"29"}), 3,
                  "is past it already, at step 30; a number above 30 goes on");
  EXPECT_TRUE(all_bytes_in(folder_ / "run") == before);
  EXPECT_EQ(run_program(resume + Words{"30"}).code, 0);
}

TEST_F(Training, with_garbage_in_its_folder_says_which_file) {
  ASSERT_EQ(run_program(small_copy(folder_ / "run")).code, 0);
  const Words resume = {"train", "--out", folder_ / "run", "--resume"};
  struct Garbage {
    std::string file, text, part;
  };
  const std::string run = folder_.get("run/run.json");
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  for (const Garbage& garbage : std::vector<Garbage>{
           {"run.json", "", "run.json"},
           {"run.json", "{", "run.json"},
           {"run.json", "[1]", "is missing"},
           {"run.json", "{}", "is missing"},
           {"run.json", run.substr(0, run.size() / 2), "run.json"},
           {"run.json", with(run, R"("n_layer":1)", R"("n_layer":"many")"), "run.json n_layer"},
           {"run.json", with(run, R"("n_layer":1)", R"("n_layer":null)"), "run.json n_layer"},
           {"run.json", with(run, R"("n_head":2)", R"("n_head":3)"), "not a multiple of n_head 3"},
           {"run.json", with(run, R"("task":"copy")", R"("task":"fly")"), "run.json task"},
           {"run.json", with(run, R"("preset":"")", R"("preset":"big")"), "run.json preset"},
           {"run.json", with(run, R"("seed":0)", R"("seed":-1)"), "run.json seed"},
           {"run.json", with(run, R"("data_sum":"copy")", R"("data_sum":[])"), "data_sum"},
           {"checkpoint/manifest.json", "{\"version\":1", "manifest.json"},
           {"checkpoint/manifest.json", "null", "is missing in this manifest"},
           {"checkpoint/model-30.safetensors", "x", "is not the file that was saved"},
           {"log.jsonl", "{\"event\":\"st", "log.jsonl line 1"},
           {"log.jsonl", "[]\n", "log.jsonl line 1"}}) {
    SCOPED_TRACE(garbage.file + ": " + garbage.text);
    const std::string good = folder_.get("run/" + garbage.file);
    folder_.put("run/" + garbage.file, garbage.text);
    expect_one_line(run_program(resume), 3, garbage.part);
    folder_.put("run/" + garbage.file, good);
  }
  EXPECT_EQ(run_program(resume).code, 0);
}

TEST_F(Training, takes_flags_before_environment_before_file_before_preset) {
  const std::string config = folder_.put("run.toml",
                                         "# a run\n"
                                         "task = \"copy\"\n"
                                         "preset = 'tiny'\n"
                                         "n_embd = 24  # and two heads\n"
                                         "n_head = 3\n"
                                         "n_layer = 3\n"
                                         "tie-embeddings = false\n"
                                         "learning_rate = 2e-3\n"
                                         "max_iters = 1\n"
                                         "seed = 12\n");
  const ProgramRun run =
      run_program({"train", "--config", config, "--out", folder_ / "run", "--n_head", "6"},
                  {.set = {"HEADLIGHT_N_HEAD=4", "HEADLIGHT_N_LAYER=1", "HEADLIGHT_QUIET=1"}});
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.errors, "");
  const io::Json made = run_json("run");
  EXPECT_EQ(*made.find("n_head"), io::Json(6));   // flag
  EXPECT_EQ(*made.find("n_layer"), io::Json(1));  // environment
  EXPECT_EQ(*made.find("n_embd"), io::Json(24));  // file
  EXPECT_EQ(*made.find("seed"), io::Json(12));    // file
  EXPECT_EQ(*made.find("learning_rate"), io::Json(2e-3));
  EXPECT_EQ(*made.find("tie_embeddings"), io::Json(false));
  EXPECT_EQ(*made.find("batch_size"), io::Json(16));  // preset
  EXPECT_EQ(*made.find("beta1"), io::Json(0.9));      // default
}

TEST_F(Training, counts_a_batch_of_pairs_in_sentences_or_in_tokens) {
  const Words words = {
      "train",     "--task",      "translate", "--data",      folder_.put("pairs.tsv", pairs(60)),
      "--n_layer", "1",           "--n_embd",  "16",          "--n_head",
      "2",         "--max_iters", "1",         "--tokenizer", "word"};
  EXPECT_EQ(run_program(words + Words{"--batch_size", "4", "--out", folder_ / "a"}).code, 0);
  EXPECT_EQ(*run_json("a").find("batch_tokens"), io::Json(0));
  EXPECT_EQ(run_program(words + Words{"--batch_tokens", "12", "--out", folder_ / "b"}).code, 0);
  EXPECT_EQ(*run_json("b").find("batch_size"), io::Json(0));
  // Two words and an end, four times.
  EXPECT_TRUE(folder_.get("a/model.safetensors") == folder_.get("b/model.safetensors"));
}

TEST_F(Training, reads_other_encodings_when_told) {
  Words words = small_lm("run");
  folder_.put("play.txt", play(60) + "\xfe\xe7\n");  // ş and ç in cp1254
  expect_one_line(run_program(words), 3, "cp1254");
  EXPECT_EQ(run_program(words + Words{"--encoding", "cp1254"}).code, 0);
}

TEST_F(Training, stops_when_nobody_can_be_told) {
  const Words words = small_copy(folder_ / "run") + Words{"--json"};
  expect_one_line(run_program(words, {.output_path = "/dev/full"}), 4, "standard output");
  EXPECT_EQ(run_program(words + Words{"--resume"}).code, 0);
}

TEST_F(Training, is_saved_when_its_reader_goes_away) {
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  Words words = small_copy(folder_ / "run", 5'000);
  *std::next(std::ranges::find(words, "--eval_interval")) = "1000000";  // no checkpoint till then
  Program running(words + Words{"--json", "--log_interval", "1"}, {.output_file = pipe_ends[1]});
  close(pipe_ends[1]);
  std::string read_bytes(2000, '\0');  // the start and some steps
  size_t count = 0;
  while (count < read_bytes.size()) {
    const ssize_t more = read(pipe_ends[0], read_bytes.data() + count, read_bytes.size() - count);
    ASSERT_GT(more, 0);
    count += static_cast<size_t>(more);
  }
  close(pipe_ends[0]);
  EXPECT_EQ(running.finish().code, 1);
  // What was done is not lost.
  const auto manifest = io::parse_json(folder_.get("run/checkpoint/manifest.json"), "manifest");
  EXPECT_GT(*manifest.find("step")->integer(), 0);
}

TEST_F(Training, is_alone_in_its_folder) {
  const std::string out = folder_ / "run";
  std::filesystem::create_directory(out);
  const int other = open(out.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  expect_one_line(run_program(small_copy(out) + Words{"--resume"}), 1,
                  "another process is training there");
  expect_one_line(run_program(small_copy(out)), 3, "is there already; give another name");
  close(other);
  EXPECT_EQ(run_program(small_copy(out) + Words{"--resume"}).code, 0);
}

}  // namespace
}  // namespace headlight::test
