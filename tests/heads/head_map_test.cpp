// The map of a run's heads: what was measured, pictures, and the first-token sink.
#include "headlight/heads/head_map.h"

#include <cmath>

#include "headlight/heads/heads.h"
#include "tests/models/support.h"

namespace headlight::heads {
namespace {

using tensor::Tensor;

class HeadMapTest : public testing::Test {
 protected:
  struct Run {
    std::unique_ptr<models::Gpt> model;
    models::Batch batch;
    autograd::Recording recording;
  };
  std::unique_ptr<Run> run_gpt(int64_t tokens) {
    auto run = std::make_unique<Run>();
    run->model = std::make_unique<models::Gpt>(models::small_gpt());
    models::fill(*run->model, 7);
    run->batch.ids = models::random_ids({1, tokens}, run->model->vocab_size(), 3);
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena, .observer = &run->recording};
    run->model->forward(context, run->batch);
    return run;
  }
  base::ThreadPool threads_{2};
};

TEST_F(HeadMapTest, has_what_head_statistics_measure) {
  const auto run = run_gpt(7);
  const HeadMap map = map_heads(threads_, run->recording, run->batch);
  const std::vector<HeadStatistics> alone = head_statistics(threads_, run->recording, run->batch);
  ASSERT_EQ(map.heads.size(), alone.size());
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(io::json_text(head_json(map.heads[i].statistics)),
              io::json_text(head_json(alone[i])));
  }
  const MappedPlace& first = map.places.front();
  EXPECT_EQ(first.place, "decoder.0.self");
  EXPECT_EQ(first.stack(), "decoder");
  EXPECT_EQ(first.kind(), "self");
  EXPECT_EQ(map.places.back().layer(), static_cast<int64_t>(map.places.size()) - 1);
  EXPECT_EQ(first.queries, 7);
  EXPECT_EQ(first.keys, 7);
}

TEST_F(HeadMapTest, is_the_same_for_any_number_of_threads) {
  const auto run = run_gpt(9);
  base::ThreadPool one(1), four(4);
  const auto numbers = [](const Tensor& picture) {
    io::Json::Array list;
    for (int64_t i = 0; i < picture.elements(); ++i) {
      list.emplace_back(static_cast<double>(picture.data<float>()[i]));
    }
    return io::Json(list);
  };
  const auto text = [&](base::ThreadPool& threads) {
    return io::json_text(
        head_map_json(map_heads(threads, run->recording, run->batch, {.side = 4}), numbers));
  };
  EXPECT_EQ(text(one), text(four));
}

TEST_F(HeadMapTest, has_pictures_of_the_weights_pooled_to_its_side) {
  const auto run = run_gpt(10);
  const HeadMap exact = map_heads(threads_, run->recording, run->batch, {.side = 24});
  const HeadMap pooled = map_heads(threads_, run->recording, run->batch, {.side = 4});
  const HeadMap means =
      map_heads(threads_, run->recording, run->batch, {.side = 4, .by_mean = true});
  for (size_t i = 0; i < exact.heads.size(); ++i) {
    const Tensor& all = exact.heads[i].picture;
    ASSERT_EQ(all.shape(), (tensor::Shape{10, 10}));
    EXPECT_EQ(exact.heads[i].row_step, 1);
    double first_sum = 0;
    for (int64_t row = 0; row < 10; ++row) {
      double sum = 0;
      for (int64_t key = 0; key < 10; ++key) sum += all.data<float>()[row * 10 + key];
      EXPECT_NEAR(sum, 1, 1e-5);
      if (row > 0) first_sum += all.data<float>()[row * 10];
    }
    EXPECT_NEAR(exact.heads[i].first_share, first_sum / 9, 1e-6);
    EXPECT_EQ(pooled.heads[i].row_step, 3);
    ASSERT_EQ(pooled.heads[i].picture.shape(), (tensor::Shape{4, 4}));
    // The last row of blocks has one row of weights; its last block one weight.
    EXPECT_EQ(pooled.heads[i].picture.data<float>()[15], all.data<float>()[99]);
    float largest = 0;
    double mean = 0;
    for (int64_t row = 0; row < 3; ++row) {
      for (int64_t key = 0; key < 3; ++key) {
        largest = std::max(largest, all.data<float>()[row * 10 + key]);
        mean += all.data<float>()[row * 10 + key] / 9;
      }
    }
    EXPECT_EQ(pooled.heads[i].picture.data<float>()[0], largest);
    EXPECT_NEAR(means.heads[i].picture.data<float>()[0], mean, 1e-6);
  }
}

TEST_F(HeadMapTest, counts_heads_that_look_at_the_first_token) {
  HeadMap map{.places = {{"decoder.0.self", 2, 4, 4}, {"decoder.0.cross", 1, 4, 4}},
              .heads = {{.place = 0, .first_share = 0.75},
                        {.place = 0, .first_share = 0.25},
                        {.place = 1, .first_share = 1}}};
  EXPECT_DOUBLE_EQ(map.sink_share(), 0.5);
  EXPECT_EQ(map.sink_heads(), 1);
}

TEST_F(HeadMapTest, takes_roles_that_show_on_repeated_texts) {
  HeadMap map{
      .places = {{"decoder.0.self", 2, 4, 4}},
      .heads = {{.statistics = {.place = "decoder.0.self", .head = 0, .key = 3}, .index = 0},
                {.statistics = {.place = "decoder.0.self", .head = 1}, .index = 1}}};
  BehaviourResult behaviour;
  behaviour.heads["decoder.0.self"] = {
      {.duplicate = BehaviourScore{0.1, 0.02}, .induction = BehaviourScore{0.8, 0.02}},
      {.duplicate = BehaviourScore{0.4, 0.02}, .induction = BehaviourScore{0.1, 0.02}}};
  add_behaviour(map, behaviour);
  EXPECT_EQ(map.heads[0].statistics.role, HeadRole::induction);
  EXPECT_EQ(map.heads[0].statistics.measure, 0.8);
  EXPECT_EQ(map.heads[0].statistics.key, -1);
  EXPECT_EQ(map.heads[1].statistics.role, HeadRole::none);
  EXPECT_EQ(*map.heads[1].duplicate, 0.4);
}

}  // namespace
}  // namespace headlight::heads
