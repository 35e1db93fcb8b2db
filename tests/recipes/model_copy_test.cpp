// Folders of pruned models: whole or not there, known by their task, trained on and resumed.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "headlight/heads/heads.h"
#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

class AModelCopy : public testing::Test {
 protected:
  std::unique_ptr<models::Model> pruned(const LoadedModel& loaded, const std::string& heads) {
    return heads::pruned_model(*loaded.model, heads::parse_head_names(heads, "heads"));
  }
  // A folder of a model that comes along, without these heads.
  std::string folder_without(const std::string& name, const std::string& heads) {
    const LoadedModel loaded = load_named_model(files_, name);
    const std::string folder = folder_ / ("small-" + name);
    write_model_copy(files_, *pruned(loaded, heads), loaded.folder, folder);
    return folder;
  }
  std::string bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  TemporaryFolder folder_;
  FilesWithEmbedded files_;
  base::ThreadPool threads_{1};
};

TEST_F(AModelCopy, has_what_an_ordinary_folder_has) {
  const std::string folder = folder_without("numbers", "decoder.0.self.0,decoder.0.cross.1");
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json",
                           "tokenizer_config.json", "run.json"}) {
    EXPECT_TRUE(base::exists(files_, folder + "/" + name)) << name;
  }
  EXPECT_EQ(generated_task_of(files_, folder), "numbers");
  const LoadedModel whole = load_named_model(files_, "numbers");
  const LoadedModel loaded = load_named_model(files_, folder);
  EXPECT_EQ(need_tokenizer(files_, loaded).size(), need_tokenizer(files_, whole).size());
  EXPECT_LT(std::filesystem::file_size(folder + "/model.safetensors"), embedded_bytes("numbers"));
  const ModelInformation information = information_on(files_, loaded);
  EXPECT_LT(information.parameters, information_on(files_, whole).parameters);
  const std::string json = io::json_text(information_json(information));
  expect_has(json, R"("name":"decoder.0.self","heads":)");
  expect_has(json, R"("left":[1,)");
  const std::string before = io::json_text(information_json(information_on(files_, whole)));
  EXPECT_EQ(before.find("left"), std::string::npos);
}

TEST_F(AModelCopy, leaves_nothing_beside_it) {
  folder_without("thrones", "decoder.0.self.0");
  EXPECT_EQ(base::list_directory(files_, folder_.path()),
            (std::vector<std::string>{"small-thrones"}));
}

TEST_F(AModelCopy, is_refused_before_long_work_where_no_folder_can_be_made) {
  folder_.put("file", "mine");
  for (const std::string name : {"file/x", "file/x/y"}) {
    EXPECT_THROW(check_new_folder(files_, folder_ / name), base::Error) << name;
  }
  check_new_folder(files_, folder_ / "a/b/c");
  check_new_folder(files_, folder_ / "d/");
  EXPECT_EQ(base::list_directory(files_, folder_.path()), (std::vector<std::string>{"file"}));
  if (geteuid() == 0) return;  // root may write everywhere
  std::filesystem::permissions(
      folder_.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_THROW(check_new_folder(files_, folder_ / "d/e"), base::Error);
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::owner_all);
}

TEST_F(AModelCopy, has_the_bytes_of_the_files_that_it_is_read_from) {
  const std::string folder = folder_without("thrones", "decoder.0.self.0");
  uint64_t all = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) all += entry.file_size();
  EXPECT_EQ(model_bytes(files_, folder), all);
  folder_.put("small-thrones/notes.txt", "not the model's");
  folder_.put("small-thrones/pytorch_model.bin", "the same numbers once more");
  EXPECT_EQ(model_bytes(files_, folder), all);
  EXPECT_EQ(model_bytes(files_, folder + "/model.safetensors"),
            std::filesystem::file_size(folder + "/model.safetensors"));
  const uint64_t whole = model_bytes(files_, load_named_model(files_, "thrones").folder);
  EXPECT_LT(all, whole);
  EXPECT_LE(whole, embedded_bytes("thrones"));
}

TEST_F(AModelCopy, does_not_touch_what_is_there) {
  const LoadedModel loaded = load_named_model(files_, "thrones");
  folder_.put("file", "mine");
  expect_refused(
      ErrorKind::bad_input,
      [&] { write_model_copy(files_, *loaded.model, loaded.folder, folder_ / "file"); },
      "file): is there already; give another name");
  EXPECT_EQ(bytes(folder_ / "file"), "mine");
  std::filesystem::create_directory(folder_ / "empty");
  expect_refused(
      ErrorKind::bad_input,
      [&] { write_model_copy(files_, *loaded.model, loaded.folder, folder_ / "empty/"); },
      "is there already");
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "empty"));
}

// Writing fails at the last file.
class FullDisk : public FilesWithEmbedded {
 public:
  int open(const std::string& path, int flags, unsigned permissions) override {
    if (path.find(".tmp/") != std::string::npos && ++opened_ > 2) return -ENOSPC;
    return FilesWithEmbedded::open(path, flags, permissions);
  }

 private:
  int opened_ = 0;
};

TEST_F(AModelCopy, is_whole_or_not_there) {
  FullDisk full;
  const LoadedModel loaded = load_named_model(full, "thrones");
  expect_refused(
      ErrorKind::out_of_memory,
      [&] { write_model_copy(full, *loaded.model, loaded.folder, folder_ / "out"); }, "");
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(AModelCopy, makes_the_folders_above_it) {
  const LoadedModel loaded = load_named_model(files_, "thrones");
  write_model_copy(files_, *loaded.model, loaded.folder, folder_ / "a/b/c/");
  EXPECT_EQ(bytes(folder_ / "a/b/c/tokenizer.json").empty(), false);
  load_named_model(files_, folder_ / "a/b/c");
}

TEST_F(AModelCopy, is_trained_on_and_resumed_to_the_same_bits) {
  const auto train = [&](const char* name, const Words& words, bool resume = false,
                         const TrainListener& listener = {}) {
    return train_model(threads_, files_,
                       {.folder = folder_ / name, .resume = resume, .values = train_values(words)},
                       listener);
  };
  train("start", {{"task", "copy"},
                  {"n_layer", "2"},
                  {"n_head", "2"},
                  {"n_embd", "16"},
                  {"batch_size", "8"},
                  {"max_iters", "2"},
                  {"eval_interval", "2"},
                  {"warmup_iters", "1"}});
  const LoadedModel start = load_named_model(files_, folder_ / "start");
  write_model_copy(files_,
                   *pruned(start,
                           "encoder.0.self.0,encoder.0.self.1,decoder.0.cross.1,"
                           "decoder.1.self.0"),
                   start.folder, folder_ / "small");
  EXPECT_EQ(generated_task_of(files_, folder_ / "small"), "copy");
  const Words words = {{"task", "copy"},       {"init", folder_ / "small"}, {"max_iters", "8"},
                       {"eval_interval", "4"}, {"batch_size", "8"},         {"warmup_iters", "2"}};
  train("whole", words);
  int64_t steps = 0;
  const TrainListener stopping{.step = [&](const TrainStep&) { ++steps; },
                               .interrupted = [&] { return steps == 5; }};
  EXPECT_EQ(train("parts", words, false, stopping).outcome, train::Outcome::interrupted);
  train("parts", {}, true);
  for (const char* name : {"model.safetensors", "config.json", "checkpoint/model-8.safetensors",
                           "checkpoint/optimizer-8.safetensors"}) {
    const std::string whole = bytes(folder_ / ("whole/" + std::string(name)));
    EXPECT_FALSE(whole.empty()) << name;
    EXPECT_EQ(bytes(folder_ / ("parts/" + std::string(name))), whole) << name;
  }
  const LoadedModel before = load_named_model(files_, folder_ / "small");
  const LoadedModel after = load_named_model(files_, folder_ / "whole");
  EXPECT_EQ(models::heads_left_of(*after.model), models::heads_left_of(*before.model));
  EXPECT_EQ(models::heads_left_of(*after.model).at("encoder.0.self"), nn::HeadNumbers{});
  EXPECT_NE(bytes(folder_ / "whole/model.safetensors"), bytes(folder_ / "small/model.safetensors"));
}

TEST_F(AModelCopy, is_no_run_to_go_on_with) {
  const std::string folder = folder_without("numbers", "decoder.0.self.0");
  expect_refused(
      ErrorKind::bad_input,
      [&] { train_model(threads_, files_, {.folder = folder, .resume = true, .values = {}}); },
      "holds a model and no run to go on with");
}

}  // namespace
}  // namespace headlight::recipes
