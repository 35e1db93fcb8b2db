// Sharded steps: the same bits for any number of ranks and threads, and a whole batch's numbers but
// for rounding.
#include "headlight/train/shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <mutex>

#include "tests/base/temporary_folder.h"
#include "tests/heads/block_model.h"
#include "tests/ranks/thread_link.h"
#include "tests/train/support.h"

namespace headlight::train {
namespace {

using test::TemporaryFolder;

// Ids in windows of eight, batch by batch; every third window is a target only in its second half.
class WindowTask : public Task {
 public:
  explicit WindowTask(int64_t rows) : rows_(rows) {}
  models::Batch batch(int64_t number) override { return made(rows_, number); }
  int64_t validation_batches() const override { return 5; }
  models::Batch validation_batch(int64_t index) const override {
    return made(index == 4 ? 1 : 3, 1000 + index);
  }

 private:
  static models::Batch made(int64_t rows, int64_t number) {
    constexpr int64_t kLength = 8;
    std::vector<int64_t> ids, targets;
    for (int64_t i = 0; i < rows * kLength; ++i) {
      ids.push_back((i * i + 7 * number + i / 3) % 13);
      targets.push_back(i / kLength % 3 == 2 && i % kLength < 4 ? -1 : (ids.back() * 5 + 1) % 13);
    }
    return {.ids = tensor::Tensor::of({rows, kLength}, ids),
            .targets = tensor::Tensor::of({rows, kLength}, targets)};
  }
  int64_t rows_;
};

// An architecture of the registry, or a model of blocks that no architecture has.
enum class Kind { gpt, pairs, newer_block, registered };

// With dropout, and with what makes it depend on the order of heads and layers.
std::unique_ptr<models::Model> registered_model(const std::string& type,
                                                const data::GeneratedTask& cases) {
  const models::Architecture& known = *models::known_architectures().find(type);
  const bool translates = known.capabilities.translates;
  models::ModelRequest request{
      .vocab_size = translates ? cases.tokenizer().size() : 13,
      .n_layer = 2,
      .n_head = 2,
      .n_embd = 12,
      .block_size = translates ? std::max(cases.longest_source(), cases.longest_target() + 1) : 8,
      .dropout = 0.2F};
  if (known.choices.n_kv_head) request.n_kv_head = 1;
  if (known.choices.sliding_window) request.sliding_window = 3;
  return models::known_architectures().plan(type, request).make();
}

std::unique_ptr<models::Model> made_model(Kind kind, const std::string& type,
                                          const data::GeneratedTask& cases) {
  std::unique_ptr<models::Model> model;
  if (kind == Kind::registered) {
    model = registered_model(type, cases);
  } else if (kind == Kind::gpt) {
    model = std::make_unique<models::Gpt>(models::GptConfig{.block_size = 8,
                                                            .vocab_size = 13,
                                                            .n_layer = 2,
                                                            .n_head = 2,
                                                            .n_embd = 12,
                                                            .dropout = 0.2F});
  } else if (kind == Kind::pairs) {
    model = std::make_unique<models::Seq2Seq>(small_config(cases));
  } else {
    heads::BlockModelOptions options = heads::parallel_model();
    for (nn::TransformerBlockOptions& layer : options.decoder) {
      layer.attention_dropout = 0.1F;
      layer.dropout = 0.1F;
    }
    model = std::make_unique<heads::BlockModel>(options);
  }
  model->draw(5);
  return model;
}

struct RunOptions {
  Kind kind = Kind::gpt;
  std::string type = {};  // of a registered one
  int64_t rows = 5;       // no multiple of the shards
  int64_t shards = 8;
  int64_t accumulation = 3;
  int threads = 1;
};

// One rank's part of a run.
class RankRun {
 public:
  RankRun(const RunOptions& options, ranks::Group* group)
      : threads_(options.threads),
        cases_(data::generated_task("copy")),
        model_(made_model(options.kind, options.type, *cases_)),
        task_(model_->capabilities().translates
                  ? generated_task(*cases_, options.rows, 7, 8)
                  : std::unique_ptr<Task>(std::make_unique<WindowTask>(options.rows))),
        trainer_(threads_, *model_, *task_, trainer_options(options), group) {}

  Trainer& trainer() { return trainer_; }
  void steps(int count) {
    for (int i = 0; i < count; ++i) results_.push_back(trainer_.step());
  }
  const std::vector<StepResult>& results() const { return results_; }

 private:
  static TrainerOptions trainer_options(const RunOptions& options) {
    TrainerOptions all = small_options();
    all.optimizer.grad_clip = 0.5;
    all.accumulation = options.accumulation;
    all.shards = options.shards;
    return all;
  }

  base::ThreadPool threads_;
  std::unique_ptr<data::GeneratedTask> cases_;
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<Task> task_;
  Trainer trainer_;
  std::vector<StepResult> results_;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What the files of a run say after so many steps.
struct Files {
  std::string weights, optimizer, manifest;
  bool operator==(const Files&) const = default;
};
Files files_of(const std::string& folder, int step) {
  const std::string at = folder + "/checkpoint/";
  const std::string ending = "-" + std::to_string(step) + ".safetensors";
  return {bytes_of(at + "model" + ending), bytes_of(at + "optimizer" + ending),
          bytes_of(at + "manifest.json")};
}

// `steps` more steps on so many ranks, from what is in the folder; then evaluated and saved.
void train_on(int ranks, const RunOptions& options, const std::string& folder, int steps) {
  const auto work = [&](ranks::Group* group) {
    RankRun run(options, group);
    Checkpoints checkpoints(base::real_files(), folder);
    checkpoints.restore(run.trainer());
    run.steps(steps);
    run.trainer().evaluate();
    checkpoints.save(run.trainer());
  };
  if (ranks == 1) {
    work(nullptr);
  } else {
    ranks::run_on_threads(ranks, [&](ranks::Group& group) { work(&group); });
  }
}

class ShardsTest : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Models, ShardsTest,
                         testing::Values(Kind::gpt, Kind::pairs, Kind::newer_block));

TEST_P(ShardsTest, give_the_same_files_for_any_number_of_ranks_and_threads) {
  const TemporaryFolder alone;
  train_on(1, {.kind = GetParam()}, alone.path(), 4);
  const Files expected = files_of(alone.path(), 4);
  ASSERT_FALSE(expected.optimizer.empty());
  for (const int ranks : {2, 4, 8}) {
    for (const int threads : {1, 2}) {
      const TemporaryFolder folder;
      train_on(ranks, {.kind = GetParam(), .threads = threads}, folder.path(), 4);
      EXPECT_TRUE(files_of(folder.path(), 4) == expected) << ranks << " ranks";
    }
  }
}

TEST_P(ShardsTest, go_on_with_the_same_bits_on_another_number_of_ranks) {
  const TemporaryFolder alone, folder;
  train_on(1, {.kind = GetParam()}, alone.path(), 2);
  train_on(1, {.kind = GetParam()}, alone.path(), 3);
  train_on(1, {.kind = GetParam()}, alone.path(), 1);
  train_on(4, {.kind = GetParam()}, folder.path(), 2);
  train_on(8, {.kind = GetParam()}, folder.path(), 3);
  train_on(2, {.kind = GetParam()}, folder.path(), 1);
  EXPECT_TRUE(files_of(folder.path(), 6) == files_of(alone.path(), 6));
}

TEST_P(ShardsTest, learn_what_whole_batches_would_but_for_rounding) {
  for (const int64_t shards : {2, 8, 32}) {
    RankRun whole({.kind = GetParam(), .shards = 1}, nullptr);
    RankRun cut({.kind = GetParam(), .shards = shards}, nullptr);
    whole.steps(3);
    cut.steps(3);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(cut.results()[i].loss, whole.results()[i].loss, 2e-5 * whole.results()[i].loss);
      EXPECT_NEAR(cut.results()[i].gradient_norm, whole.results()[i].gradient_norm,
                  1e-4 * whole.results()[i].gradient_norm);
      EXPECT_EQ(cut.results()[i].tokens, whole.results()[i].tokens);
    }
  }
}

TEST_P(ShardsTest, hold_where_there_are_fewer_sequences_than_shards) {
  const RunOptions few{.kind = GetParam(), .rows = 3, .shards = 16, .accumulation = 1};
  const TemporaryFolder alone;
  train_on(1, few, alone.path(), 3);
  for (const int ranks : {2, 8, 16}) {
    const TemporaryFolder folder;
    train_on(ranks, few, folder.path(), 3);
    EXPECT_TRUE(files_of(folder.path(), 3) == files_of(alone.path(), 3)) << ranks;
  }
}

class RegisteredShardsTest : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Types, RegisteredShardsTest,
                         testing::ValuesIn(models::known_architectures().types()),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(RegisteredShardsTest, give_the_same_files_for_any_number_of_ranks_and_threads) {
  RunOptions options{.kind = Kind::registered, .type = std::string(GetParam()), .accumulation = 2};
  const TemporaryFolder alone;
  train_on(1, options, alone.path(), 3);
  const Files expected = files_of(alone.path(), 3);
  ASSERT_FALSE(expected.optimizer.empty());
  options.threads = 2;
  for (const int ranks : {1, 2, 8}) {
    const TemporaryFolder folder;
    train_on(ranks, options, folder.path(), 3);
    EXPECT_TRUE(files_of(folder.path(), 3) == expected) << ranks << " ranks";
  }
}

TEST(Shards, cut_all_sequences_of_a_step_into_even_runs) {
  WindowTask task(5);
  const ShardedStep step([&](size_t index) { return task.batch(static_cast<int64_t>(index)); }, 3,
                         8);
  std::vector<int64_t> sizes;
  for (int64_t shard = 0; shard < 8; ++shard) {
    int64_t size = 0;
    for (const Slice& slice : step.slices(shard)) size += slice.count;
    sizes.push_back(size);
  }
  EXPECT_EQ(sizes, (std::vector<int64_t>{1, 2, 2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(step.slices(5).size(), 2U);  // sequences 9 and 10, of two batches
}

TEST(Shards, of_a_rank_keep_only_its_part_of_the_moments) {
  std::mutex mutex;
  std::vector<int64_t> kept(4);
  ranks::run_on_threads(4, [&](ranks::Group& group) {
    RankRun run({.kind = Kind::gpt}, &group);
    const std::lock_guard lock(mutex);
    kept[static_cast<size_t>(group.rank())] = run.trainer().optimizer().kept_numbers();
  });
  RankRun alone({.kind = Kind::gpt}, nullptr);
  const int64_t parameters = static_cast<int64_t>(alone.trainer().model().parameters().size());
  const int64_t moments = alone.trainer().optimizer().kept_numbers() - parameters;
  int64_t all = 0;
  for (const int64_t each : kept) all += each - parameters;
  EXPECT_EQ(all, moments);
}

TEST(Shards, that_diverge_end_every_rank_with_the_same_words) {
  std::mutex mutex;
  std::vector<std::string> words;
  EXPECT_THROW(ranks::run_on_threads(4,
                                     [&](ranks::Group& group) {
                                       RankRun run({.kind = Kind::gpt}, &group);
                                       const auto parameter =
                                           run.trainer().model().parameters().front();
                                       parameter->change().mutable_data<float>()[3] = NAN;
                                       try {
                                         run.steps(1);
                                       } catch (const base::Error& error) {
                                         const std::lock_guard lock(mutex);
                                         words.emplace_back(error.what());
                                         throw;
                                       }
                                     }),
               base::Error);
  ASSERT_EQ(words.size(), 4U);
  for (const std::string& each : words) EXPECT_EQ(each, words.front());
}

}  // namespace
}  // namespace headlight::train
