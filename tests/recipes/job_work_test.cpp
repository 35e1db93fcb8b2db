// Long work in folders: it can be interrupted and goes on where it was.
#include "headlight/recipes/job_work.h"

#include "headlight/io/io.h"
#include "tests/recipes/models_with_files.h"

namespace headlight::recipes {
namespace {

using io::Json;

class JobWorkTest : public ModelsWithFiles {
 protected:
  std::string made_folder(const std::string& name) {
    std::filesystem::create_directory(folder_ / name);
    return folder_ / name;
  }
  static TrainJob copying() {
    return {.keys = {{"task", "copy"},
                     {"max_iters", "40"},
                     {"eval_interval", "10"},
                     {"n_layer", "1"},
                     {"n_head", "2"},
                     {"n_embd", "16"},
                     {"batch_size", "4"}}};
  }
  std::string bytes(const std::string& path) {
    return base::read_all(*base::open_input(files_, path), 1 << 30);
  }
};

TEST_F(JobWorkTest, of_training_goes_on_to_the_same_bits) {
  const std::string whole = made_folder("whole");
  const JobResult expected = run_job(threads_, files_, copying(), whole, {});
  EXPECT_EQ(expected.written, whole + "/model");
  const std::string parts = made_folder("parts");
  int interruptions = 0;
  for (int steps = 0;; steps = 0) {
    const JobResult result =
        run_job(threads_, files_, copying(), parts, {.interrupted = [&] { return ++steps > 13; }});
    if (!result.interrupted) {
      EXPECT_EQ(io::json_text(result.result), io::json_text(expected.result));
      break;
    }
    ASSERT_LT(++interruptions, 10);
  }
  EXPECT_GT(interruptions, 1);
  EXPECT_EQ(bytes(parts + "/model/model.safetensors"), bytes(whole + "/model/model.safetensors"));
}

// Events of a training, by name.
struct ToldEvents {
  std::vector<Json> train = {};
  std::vector<Json> heads = {};
  JobListener listener() {
    return {
        .event = [this](std::string_view name,
                        const Json& event) { (name == "heads" ? heads : train).push_back(event); },
        .letters = [](const tensor::Tensor&) { return Json("letters"); }};
  }
  std::vector<Json> lines(const char* kind) const {
    std::vector<Json> found;
    for (const Json& line : train) {
      if (*line.find("event")->text() == kind) found.push_back(line);
    }
    return found;
  }
};

TEST_F(JobWorkTest, of_training_tells_the_heads_of_its_probe_from_the_beginning_on) {
  TrainJob job = copying();
  job.probe = "3 1 4";
  job.probe_target = "3 1 4 1";
  ToldEvents told;
  run_job(threads_, files_, job, made_folder("filmed"), told.listener());
  ASSERT_EQ(told.heads.size(), 5u);
  for (size_t i = 0; i < told.heads.size(); ++i) {
    EXPECT_EQ(told.heads[i].find("step")->integer(), 10 * static_cast<int64_t>(i));
    EXPECT_EQ(io::json_text(*told.heads[i].find("tokens")), R"(["<start>","3","1","4","1"])");
    EXPECT_EQ(io::json_text(*told.heads[i].find("source_tokens")), R"(["3","1","4"])");
    const Json& cross = (*told.heads[i].find("places")->array()).back();
    EXPECT_EQ(cross.find("queries")->integer(), 5);
    EXPECT_EQ(cross.find("keys")->integer(), 3);
  }
  // Measured on repeated tokens, which the probe is not.
  EXPECT_TRUE((*told.heads[0].find("heads")->array())[0].find("duplicate")->number());
  const std::string unseen = made_folder("unseen");
  run_job(threads_, files_, copying(), unseen, {});
  EXPECT_EQ(bytes(folder_ / "filmed/model/model.safetensors"),
            bytes(unseen + "/model/model.safetensors"))
      << "looking changes nothing";
}

TEST_F(JobWorkTest, of_training_looks_at_its_own_answer_where_none_is_given) {
  TrainJob job = copying();
  job.probe = "3 1 4";
  ToldEvents told;
  run_job(threads_, files_, job, made_folder("own"), told.listener());
  ASSERT_EQ(told.heads.size(), 5u);
  EXPECT_GE(told.heads.back().find("tokens")->array()->size(), 1u);
  job.probe = "no number";
  ToldEvents nothing;
  EXPECT_FALSE(
      run_job(threads_, files_, job, made_folder("unread"), nothing.listener()).interrupted);
  EXPECT_TRUE(nothing.heads.empty()) << "a text that it cannot read shows nothing";
}

TEST_F(JobWorkTest, of_training_tells_how_long_it_will_take_and_what_it_writes) {
  ToldEvents told;
  run_job(threads_, files_, copying(), made_folder("told"), told.listener());
  ASSERT_FALSE(told.lines("step").empty());
  for (const Json& line : told.lines("step")) EXPECT_GE(line.find("seconds_left")->number(), 0);
  EXPECT_EQ(told.lines("step").back().find("seconds_left")->number(), 0);
  ASSERT_EQ(told.lines("eval").size(), 4u);
  for (const Json& line : told.lines("eval")) {
    const std::string& sample = *line.find("sample")->text();
    EXPECT_NE(sample.find(" → "), std::string::npos) << sample;
    EXPECT_EQ(text::words(sample.substr(0, sample.find(" → "))).size(), 10u) << sample;
  }
}

TEST_F(JobWorkTest, of_ablation_does_not_measure_twice) {
  const AblateJob job{.model = "thrones", .examples = {.task = "translate", .examples = 3}};
  const std::string folder = made_folder("ablate");
  base::write_file(files_, folder + "/data.txt",
                   "When you play the game of thrones\tyou win or you die\n");
  int asked = 0;
  const JobResult first =
      run_job(threads_, files_, job, folder, {.interrupted = [&] { return ++asked > 3; }});
  EXPECT_TRUE(first.interrupted);
  const JobResult second = run_job(threads_, files_, job, folder, {});
  const std::string fresh = made_folder("fresh");
  base::write_file(files_, fresh + "/data.txt", bytes(folder + "/data.txt"));
  EXPECT_EQ(io::json_text(second.result),
            io::json_text(run_job(threads_, files_, job, fresh, {}).result));
}

TEST_F(JobWorkTest, writes_models_with_fewer_heads_into_its_folder) {
  PruneJob job{.model = "thrones"};
  job.request.heads_off = "encoder.0.self.0";
  const std::string folder = made_folder("prune");
  const JobResult result = run_job(threads_, files_, job, folder, {});
  const LoadedModel pruned = load_named_model(files_, result.written);
  EXPECT_EQ(heads::heads_of(*pruned.model).size() + 1,
            heads::heads_of(*load_named_model(files_, "thrones").model).size());
}

TEST_F(JobWorkTest, goes_on_after_it_was_killed_at_any_file) {
  // Folders that were made and nothing in them yet, or a model that nobody was told of.
  const std::string training = made_folder("train");
  made_folder("train/model");
  EXPECT_FALSE(run_job(threads_, files_, copying(), training, {}).interrupted);
  PruneJob prune{.model = "thrones"};
  prune.request.heads_off = "encoder.0.self.0";
  const std::string pruning = made_folder("pruned");
  made_folder("pruned/parts");
  run_job(threads_, files_, prune, pruning, {});
  EXPECT_FALSE(run_job(threads_, files_, prune, pruning, {}).written.empty());
}

TEST_F(JobWorkTest, is_refused_before_it_begins_when_its_words_mean_nothing) {
  expect_refused(
      ErrorKind::usage,
      [&] {
        check_job(files_, TrainJob{.keys = {{"task", "copy"}, {"n_layer", "-1"}}});
      },
      "n_layer");
  check_job(files_, TrainJob{.keys = {{"task", "lm"}}});
}

}  // namespace
}  // namespace headlight::recipes
