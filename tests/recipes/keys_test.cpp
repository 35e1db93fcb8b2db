// Keys and presets: from words to the settings of a run.
#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

TrainSettings settings_of(const Words& values) {
  return read_train_settings(train_values(values), base::real_files(), nullptr);
}

void expect_wrong(const Words& values, const std::string& text) {
  expect_refused(
      ErrorKind::usage, [&] { settings_of(values); }, text);
}

TEST(Keys, take_the_defaults_of_their_task) {
  const TrainSettings copy = settings_of({{"task", "copy"}});
  EXPECT_EQ(copy.n_layer, 2);
  EXPECT_EQ(copy.batch_size, 64);
  EXPECT_EQ(copy.positions, "sinusoidal");
  EXPECT_EQ(copy.lr_decay_iters, copy.max_iters);
  const TrainSettings lm = settings_of({{"task", "lm"}, {"data", "text.txt"}});
  EXPECT_EQ(lm.n_embd, 128);
  EXPECT_EQ(lm.positions, "learned");
}

TEST(Keys, are_spelled_with_either_line) {
  EXPECT_EQ(settings_of({{"task", "copy"}, {"max_iters", "7"}}).max_iters, 7);
  EXPECT_EQ(settings_of({{"task", "copy"}, {"max-iters", "7"}}).max_iters, 7);
}

TEST(Keys, that_nobody_knows_are_refused_with_the_nearest) {
  expect_wrong({{"task", "copy"}, {"max_itres", "7"}},
               "\"max-itres\"): is no key; the nearest is max_iters");
}

TEST(Keys, of_other_programs_are_told_what_they_are_here) {
  expect_wrong({{"task", "copy"}, {"lr", "0.1"}}, "is no key; here it is learning_rate");
  expect_wrong({{"task", "copy"}, {"num_epochs", "3"}}, "training is counted in steps");
}

TEST(Keys, have_ranges) {
  expect_wrong({{"task", "copy"}, {"max_iters", "0"}},
               "max_iters (\"0\"): must be a whole number, at least 1");
  expect_wrong({{"task", "copy"}, {"dropout", "1"}}, "dropout (\"1\"): must be a number");
  expect_wrong({{"task", "copy"}, {"dropout", "nan"}}, "dropout (\"nan\"): must be");
  expect_wrong({{"task", "copy"}, {"n_head", "two"}}, "n_head (\"two\"): must be");
  expect_wrong({{"task", "copy"}, {"norm", "prr"}}, "the nearest is pre");
  expect_wrong({{"task", "copy"}, {"tie_embeddings", "maybe"}}, "must be true or false");
}

TEST(Keys, that_contradict_each_other_are_refused_as_the_caller_writes_them) {
  expect_wrong({{"max_iters", "7"}}, "task: is missing: task lm|mlm|translate|");
  expect_wrong({{"task", "lm"}}, "data: is missing: task lm reads text");
  expect_wrong({{"task", "copy"}, {"data", "a.txt"}}, "makes its own data");
  expect_refused(
      ErrorKind::bad_input,
      [] {
        settings_of({{"task", "copy"}, {"n_embd", "10"}, {"n_head", "3"}});
      },
      "n_embd (10): is not a multiple of n_head 3; n_head 2 or 5 would do");
  expect_wrong({{"task", "translate"}, {"source", "a.txt"}},
               "source: source and target go together");
}

TEST(Keys, take_the_defaults_of_their_architecture) {
  const TrainSettings gpt = settings_of({{"task", "lm"}, {"data", "text.txt"}});
  EXPECT_EQ(gpt.arch, "gpt2");
  EXPECT_EQ(gpt.activation, "gelu_new");
  EXPECT_EQ(gpt.bias, true);
  const TrainSettings llama =
      settings_of({{"task", "lm"}, {"arch", "llama"}, {"data", "text.txt"}});
  EXPECT_EQ(llama.activation, "silu");
  EXPECT_EQ(llama.bias, false);
  EXPECT_EQ(llama.tie_embeddings, false);
  EXPECT_EQ(llama.positions, "") << "it has none to choose";
  const TrainSettings bert = settings_of({{"task", "mlm"}, {"data", "text.txt"}});
  EXPECT_EQ(bert.arch, "bert");
  EXPECT_EQ(bert.norm, "post");
  EXPECT_EQ(settings_of({{"task", "copy"}}).arch, "headlight-seq2seq");
  EXPECT_EQ(settings_of({{"task", "copy"}, {"init", "a"}}).arch, "") << "it comes with the model";
}

TEST(APreset, leaves_the_switches_of_another_architecture_alone) {
  const TrainSettings settings =
      settings_of({{"preset", "shakespeare-char-cpu"}, {"arch", "gpt_neox"}, {"data", "text.txt"}});
  EXPECT_EQ(settings.n_embd, 128);
  EXPECT_EQ(settings.bias, true) << "the preset's is for a GPT";
  EXPECT_EQ(settings.activation, "gelu");
}

TEST(APreset, gives_what_the_caller_leaves_open) {
  const TrainSettings settings = settings_of(
      {{"preset", "shakespeare-char-cpu"}, {"data", "text.txt"}, {"learning_rate", "2e-3"}});
  EXPECT_EQ(settings.task, "lm");
  EXPECT_EQ(settings.tokenizer, "char");
  EXPECT_EQ(settings.max_iters, 2000);
  EXPECT_EQ(settings.learning_rate, 2e-3) << "what is asked for weighs more";
  EXPECT_EQ(settings.bias, false);
}

TEST(APreset, is_within_the_ranges_of_its_keys) {
  for (const Preset& preset : train_presets()) {
    std::vector<std::pair<std::string, std::string>> values = {
        {"preset", std::string(preset.name)}, {"task", "lm"}, {"data", "text.txt"}};
    for (const auto& [key, value] : preset.values) {
      if (key == "task") values[1].second = value;
    }
    if (is_generated_task(values[1].second)) values.pop_back();
    EXPECT_NO_THROW(settings_of(values)) << preset.name;
  }
}

TEST(APreset, that_is_not_there_is_refused_with_the_nearest) {
  expect_wrong({{"preset", "shakespear"}, {"data", "text.txt"}},
               "the nearest is shakespeare-char-cpu");
}

TEST(Settings, are_written_and_read_again) {
  const TrainSettings first = settings_of({{"task", "reverse"}, {"seed", "5"}, {"dropout", "0.1"}});
  const io::Json run = settings_json(first);
  const TrainSettings again = read_train_settings(train_values({}), base::real_files(), &run);
  EXPECT_EQ(io::json_text(settings_json(again)), io::json_text(run));
  EXPECT_EQ(again.seed, 5);
}

TEST(Settings, of_a_run_of_before_there_was_a_choice_are_those_of_its_task) {
  const TrainSettings first = settings_of({{"task", "copy"}});
  io::Json run = settings_json(first);
  std::erase_if(*run.object(), [](const auto& member) {
    return member.first == "arch" || member.first == "n_kv_head" || member.first == "rope_theta" ||
           member.first == "sliding_window" || member.first == "shards";
  });
  add_later_keys(run);
  const TrainSettings again = read_train_settings(train_values({}), base::real_files(), &run);
  EXPECT_EQ(io::json_text(settings_json(again)), io::json_text(settings_json(first)));
  EXPECT_NO_THROW(check_unchanged(run, settings_json(again), "run.json"));
}

TEST(Settings, of_a_resumed_run_may_change_only_what_cannot_change_the_past) {
  const io::Json before = settings_json(settings_of({{"task", "copy"}}));
  const auto refused = [&](const char* key, const char* value) {
    return refusal_of([&] {
      read_train_settings(train_values({{key, value}}), base::real_files(), &before);
    });
  };
  EXPECT_FALSE(refused("max_iters", "900").kind);
  expect_has(refused("n_layer", "3").text, "run.json (n_layer): was 2 and is now 3");
}

// What the run says of another architecture is not the mistake.
TEST(Settings, of_a_resumed_run_name_the_key_that_was_changed) {
  const io::Json before =
      settings_json(settings_of({{"task", "lm"}, {"data", "text.txt"}, {"arch", "llama"}}));
  const auto refused = [&](const char* key, const char* value) {
    return refusal_of([&] {
      read_train_settings(train_values({{key, value}}), base::real_files(), &before);
    });
  };
  expect_has(refused("arch", "qwen2").text,
             "run.json (arch): was \"llama\" and is now \"qwen2\"; a run that is resumed keeps");
  expect_has(refused("task", "mlm").text, "run.json (task): was \"lm\" and is now \"mlm\"");
}

TEST(GivenValues, name_a_key_as_the_front_door_writes_it) {
  const GivenValues typed("--");
  EXPECT_EQ(typed.source("max-iters"), "--max-iters");
  EXPECT_EQ(GivenValues().source("max-iters"), "max_iters");
}

TEST(GivenValues, that_exclude_each_other_are_weighed) {
  GivenValues values;
  values.set("one", {"1", "one"});
  values.set("other", {"2", "OTHER", Level::environment});
  exclude(values, "one", "other");
  EXPECT_TRUE(values.has("one"));
  EXPECT_FALSE(values.has("other")) << "what is asked for beats a variable";
  values.set("other", {"2", "other"});
  expect_refused(
      ErrorKind::usage, [&] { exclude(values, "one", "other"); }, "one: has no meaning with other");
}

}  // namespace
}  // namespace headlight::recipes
