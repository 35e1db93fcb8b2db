// Parts of tensors: exact, cut and pooled, of one head and of all.
#include "headlight/explain/tile.h"

#include "headlight/explain/edges.h"
#include "tests/explain/support.h"

namespace headlight::explain {
namespace {

class TileTest : public ExplainTest {
 protected:
  static double at(const Tensor& tensor, int64_t place) { return tensor.data<float>()[place]; }
};

TEST_F(TileTest, is_exact_where_nothing_has_to_be_pooled) {
  const Trace trace = worked_trace({.heads = 2});
  for (const char* name : {"encoder.0.self.weights", "encoder.0.self.head.1.weights",
                           "encoder.0.norm_1.mean", "encoder.embedding", "logits"}) {
    for (const int64_t most : {0, 512}) {
      const Tile tile = tile_of(trace, name, {.most_rows = most, .most_cols = most});
      ASSERT_TRUE(tile.is_exact()) << name;
      EXPECT_TRUE(same_bits(tile.exact, trace.values(name))) << name;
      EXPECT_EQ(tile.row_step, 1);
      EXPECT_EQ(tile_elements(name, shape_of(trace, name), {}), tile.exact.elements());
    }
  }
}

TEST_F(TileTest, is_cut_where_rows_and_columns_are_asked_for) {
  const Trace trace = worked_trace({.heads = 2});
  const std::string name = "encoder.0.self.head.1.scores";
  const Tensor whole = trace.values(name);
  const Tile tile = tile_of(trace, name, {.rows = {2, 5}, .cols = {.begin = 3}});
  ASSERT_EQ(tile.exact.shape(), (tensor::Shape{1, 3, whole.size(2) - 3}));
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 3; j < whole.size(2); ++j) {
      EXPECT_EQ(at(tile.exact, i * (whole.size(2) - 3) + j - 3),
                at(whole, (i + 2) * whole.size(2) + j));
    }
  }
  const std::string json = io::json_text(tiles_json({tile}));
  EXPECT_NE(json.find("\"rows\":[2,5],\"cols\":[3,7],\"row_step\":1"), std::string::npos) << json;
}

TEST_F(TileTest, is_pooled_where_it_is_larger_than_asked_for) {
  const Trace trace = worked_trace({.heads = 3});
  const Tensor whole = trace.values("encoder.0.self.weights");
  const TileRequest request{.most_rows = 3, .most_cols = 2};
  const Tile all = tile_of(trace, "encoder.0.self.weights", request);
  ASSERT_FALSE(all.is_exact());
  EXPECT_EQ(all.row_step, 3);
  EXPECT_EQ(all.col_step, 4);
  ASSERT_EQ(all.largest.shape(), (tensor::Shape{1, 3, 3, 2}));
  EXPECT_EQ(tile_elements("encoder.0.self.weights", all.shape, request),
            2 * all.largest.elements());
  for (int64_t head = 0; head < 3; ++head) {
    const std::string name = "encoder.0.self.head." + std::to_string(head) + ".weights";
    const Tile one = tile_of(trace, name, request);
    const Tile at_hand = tile_of(name, trace.values(name), request);
    for (int64_t i = 0; i < 6; ++i) {
      EXPECT_EQ(at(all.largest, head * 6 + i), at(one.largest, i));
      EXPECT_EQ(at(all.mean, head * 6 + i), at(one.mean, i));
      EXPECT_EQ(at(at_hand.mean, i), at(one.mean, i));
    }
    float largest = 0;
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 4; j < 7; ++j) {
        largest = std::max(largest, whole.data<float>()[(head * 7 + i) * 7 + j]);
      }
    }
    EXPECT_EQ(one.largest.data<float>()[1], largest);
  }
  const std::vector<io::NamedTensor> tensors = tile_tensors({all});
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "encoder.0.self.weights:max");
  EXPECT_EQ(tensors[1].name, "encoder.0.self.weights:mean");
}

TEST_F(TileTest, never_pools_ids) {
  const Trace trace = worked_trace();
  const Tile tile = tile_of(trace, "encoder.ids", {.most_rows = 1, .most_cols = 1});
  ASSERT_TRUE(tile.is_exact());
  EXPECT_EQ(tile.exact.dtype(), DType::i64);
}

TEST_F(TileTest, refuses_positions_that_there_are_not) {
  const Trace trace = worked_trace();
  for (const TileRequest& request :
       {TileRequest{.rows = {0, 8}}, {.rows = {7, 7}}, {.cols = {5, 2}}, {.cols = {-1, 2}}}) {
    expect_has(error_of([&] { tile_of(trace, "encoder.0.self.scores", request); }),
               "are not within 0:7");
  }
  expect_has(error_of([&] { tile_of(trace, "encoder.0.self.score", {}); }), "no such tensor");
}

TEST_F(TileTest, counts_what_a_trace_holds) {
  const Trace small = worked_trace({.width = 6, .heads = 1});
  const Trace large = worked_trace({.width = 60, .heads = 1});
  EXPECT_GT(small.bytes(), 1000u);
  EXPECT_GT(large.bytes(), 2 * small.bytes());
}

Tensor weights_of(std::initializer_list<float> values, int64_t rows) {
  return Tensor::of({rows, static_cast<int64_t>(values.size()) / rows}, values);
}

TEST(EdgesTest, are_the_fewest_that_make_up_the_mass) {
  const Tensor weights = weights_of({0.7F, 0.2F, 0.1F, 0.05F, 0.9F, 0.05F}, 2);
  const Edges most = strongest_edges(weights, {.mass = 0.8});
  EXPECT_EQ(most.needed, 2);  // 0.9 and 0.7 of 2
  ASSERT_EQ(most.edges.size(), 2u);
  EXPECT_EQ(most.edges[0].query, 1);
  EXPECT_EQ(most.edges[0].key, 1);
  EXPECT_EQ(most.edges[1].weight, 0.7F);
  EXPECT_NEAR(most.reached, 0.8, 1e-6);
  EXPECT_EQ(most.total, 6);
  EXPECT_EQ(strongest_edges(weights, {.mass = 0.81}).needed, 3);
  EXPECT_EQ(strongest_edges(weights, {.mass = 1}).needed, 6);
  EXPECT_EQ(strongest_edges(weights, {.mass = 0}).needed, 0);
}

TEST(EdgesTest, are_cut_at_the_limit_which_is_told) {
  const Tensor weights = weights_of({0.25F, 0.25F, 0.25F, 0.25F}, 1);
  const Edges found = strongest_edges(weights, {.mass = 1, .limit = 3});
  EXPECT_EQ(found.needed, 4);
  ASSERT_EQ(found.edges.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(found.edges[i].key, static_cast<int64_t>(i));
  EXPECT_NEAR(found.reached, 0.75, 1e-12);
}

TEST(EdgesTest, are_of_the_rows_asked_for_and_may_leave_out_the_first_key) {
  const Tensor weights = weights_of({1, 0, 0, 0.6F, 0.4F, 0, 0.5F, 0.3F, 0.2F}, 3);
  const Edges found = strongest_edges(weights, {.mass = 1, .rows = {2, 1, 2}, .skip_first = true});
  EXPECT_EQ(found.rows, 2);
  ASSERT_EQ(found.edges.size(), 3u);  // what has no weight is no edge
  EXPECT_EQ(found.edges[0].weight, 0.4F);
  EXPECT_NEAR(found.reached, 1, 1e-12);
  expect_has(error_of([&] { strongest_edges(weights, {.rows = {3}}); }), "the rows 0 to 2");
  expect_has(error_of([&] {
               strongest_edges(Tensor::zeros(DType::f32, {2, 3, 3}), {});
             }),
             "one head's weights");
}

TEST(EdgesTest, of_many_are_those_that_sorting_gives) {
  std::vector<float> values;
  double sum = 0;
  for (int64_t i = 0; i < 97 * 89; ++i) {
    values.push_back(static_cast<float>((i * 7919) % 1009) / 1009);
    sum += values.back();
  }
  const Tensor weights = Tensor::of({1, 97, 89}, values);
  std::vector<float> sorted = values;
  std::ranges::sort(sorted, std::greater());
  for (const double mass : {0.1, 0.5, 0.9, 0.999}) {
    const Edges found = strongest_edges(weights, {.mass = mass, .limit = 100'000});
    double reached = 0;
    size_t count = 0;
    while (reached < mass * sum) reached += sorted[count++];
    EXPECT_NEAR(static_cast<double>(found.needed), static_cast<double>(count), 1);
    ASSERT_EQ(found.edges.size(), static_cast<size_t>(found.needed));
    for (size_t i = 0; i < found.edges.size(); ++i) ASSERT_EQ(found.edges[i].weight, sorted[i]);
  }
}

}  // namespace
}  // namespace headlight::explain
