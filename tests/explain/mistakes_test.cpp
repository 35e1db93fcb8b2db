// The numbers that wrong computations give, against the same computed here.
#include "tests/explain/support.h"

namespace headlight::explain {
namespace {

using autograd::Value;

class Mistakes : public ExplainTest {
 protected:
  // Three queries, keys and values of width 3 with whole numbers, causal.
  Trace attention_trace() {
    return trace_run(threads_, {}, [](autograd::Context& context) {
      const auto leaf = [&](const char* name, std::vector<float> numbers) {
        const Value value = Value::leaf(Tensor::of({1, 3, 3}, numbers));
        autograd::name_value(context, "", name, value);
        return value;
      };
      const Value query = leaf("q", {1, 0, 2, 2, 2, 2, 2, 1, 3});
      const Value key = leaf("k", {3, 1, 1, 4, 4, 0, 2, 3, 1});
      const Value value = leaf("v", {1, 2, 3, 2, 8, 0, 2, 6, 3});
      autograd::attention(context, query, key, value, {.causal = true, .place = "self"});
    });
  }

  static std::map<std::string, double> by_key(const Trace& trace, const CellReference& cell) {
    std::map<std::string, double> found;
    for (const Mistake& one : mistakes_of(trace, cell, 1e-6)) found.emplace(one.key, one.value);
    return found;
  }
};

TEST_F(Mistakes, of_a_score_use_the_wrong_rows) {
  const Trace trace = attention_trace();
  const auto found = by_key(trace, {"self.scores", {0, 0, 1, 2}});  // 2·2 + 2·3 + 2·1 = 12
  EXPECT_EQ(found.at("value_for_key"), 2 * 2 + 2 * 6 + 2 * 3);
  EXPECT_EQ(found.at("key_column"), 2 * 1 + 2 * 0 + 2 * 1);
}

TEST_F(Mistakes, of_a_score_are_on_the_other_side_of_the_diagonal) {
  const Trace trace = attention_trace();
  const auto found = by_key(trace, {"self.scores", {0, 0, 0, 1}});  // 1·4 + 0·4 + 2·0 = 4
  EXPECT_EQ(found.at("query_and_key_swapped"), 2 * 3 + 2 * 1 + 2 * 1);
}

TEST_F(Mistakes, of_a_scaled_score_forget_the_root) {
  const Trace trace = attention_trace();
  const auto found = by_key(trace, {"self.scaled_scores", {0, 0, 1, 1}});  // 16 / √3
  EXPECT_NEAR(found.at("not_scaled"), 16, 1e-5);
  EXPECT_NEAR(found.at("scaled_by_width"), 16.0 / 3, 1e-5);
  EXPECT_NEAR(found.at("scaled_up"), 16 * std::sqrt(3.0), 1e-4);
  EXPECT_NEAR(found.at("sign"), -16 / std::sqrt(3.0), 1e-5);
}

TEST_F(Mistakes, of_a_weight_forget_the_mask_the_sum_or_the_row) {
  const Trace trace = attention_trace();
  const Tensor scaled = trace.values("self.scaled_scores");
  const auto exponential = [&](int64_t i, int64_t j) {
    return std::exp(static_cast<double>(scaled.data<float>()[i * 3 + j]));
  };
  const auto found = by_key(trace, {"self.weights", {0, 0, 1, 0}});
  EXPECT_NEAR(found.at("mask_forgotten"),
              exponential(1, 0) / (exponential(1, 0) + exponential(1, 1) + exponential(1, 2)),
              1e-6);
  EXPECT_NEAR(found.at("column_summed"),
              exponential(1, 0) / (exponential(0, 0) + exponential(1, 0) + exponential(2, 0)),
              1e-6);
  EXPECT_NEAR(found.at("not_divided"), exponential(1, 0), 1e-4);
}

TEST_F(Mistakes, of_a_head_output_read_a_column_of_weights) {
  const Trace trace = attention_trace();
  const Tensor weights = trace.values("self.weights");
  const float value[] = {2, 8, 6};  // the middle column
  double column = 0;
  for (int64_t j = 0; j < 3; ++j) column += weights.data<float>()[j * 3 + 1] * double{value[j]};
  const auto found = by_key(trace, {"self.head_output", {0, 0, 1, 1}});
  EXPECT_NEAR(found.at("column_of_weights"), column, 1e-5);
  EXPECT_NEAR(found.at("not_weighted"), 16, 1e-5);
}

TEST_F(Mistakes, of_a_norm_are_sample_deviation_and_what_is_forgotten) {
  const Trace trace = worked_trace();
  const Tensor input = trace.values("encoder.0.norm_1.input");
  const int64_t width = input.size(-1);
  double mean = 0, squares = 0;
  for (int64_t i = 0; i < width; ++i) mean += input.data<float>()[i] / static_cast<double>(width);
  for (int64_t i = 0; i < width; ++i) squares += std::pow(input.data<float>()[i] - mean, 2);
  const auto count = static_cast<double>(width);
  const auto deviation = by_key(trace, {"encoder.0.norm_1.deviation", {0, 0}});
  EXPECT_NEAR(deviation.at("sample_deviation"), std::sqrt(squares / (count - 1)), 1e-5);
  EXPECT_NEAR(deviation.at("root_forgotten"), squares / count, 1e-5);
  const auto of_mean = by_key(trace, {"encoder.0.norm_1.mean", {0, 0}});
  EXPECT_NEAR(of_mean.at("sum_not_divided"), mean * count, 1e-5);
  const auto normalized = by_key(trace, {"encoder.0.norm_1.normalized", {0, 0, 0}});
  EXPECT_NEAR(normalized.at("deviation_forgotten"), input.data<float>()[0] - mean, 1e-5);
}

TEST_F(Mistakes, of_every_cell_are_finite_and_differ_from_it_and_each_other) {
  const Trace trace = worked_trace();
  size_t count = 0;
  for (const TracedTensor& tensor : trace.tensors()) {
    for (const auto& index : indices_of(tensor.shape)) {
      const double right = trace.value(tensor, index);
      const double tolerance = 0.01 * std::fabs(right) + 5e-5;
      if (!std::isfinite(right)) continue;
      const std::vector<Mistake> found = mistakes_of(trace, {tensor.name, index}, tolerance);
      for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_TRUE(std::isfinite(found[i].value)) << tensor.name << " " << found[i].key;
        ASSERT_GT(std::fabs(found[i].value - right), tolerance) << tensor.name;
        for (size_t j = 0; j < i; ++j) {
          ASSERT_GT(std::fabs(found[i].value - found[j].value), tolerance) << tensor.name;
        }
      }
      count += found.size();
    }
  }
  EXPECT_GT(count, 1000U);
}

TEST_F(Mistakes, cannot_be_made_where_they_need_cells_that_there_are_not) {
  // Two queries and five keys: no column of K has as many numbers as a query.
  const Trace trace = trace_run(threads_, {}, [](autograd::Context& context) {
    const Value query = Value::leaf(Tensor::of({1, 2, 3}, {1, 2, 3, 4, 5, 6}));
    const Value key = Value::leaf(Tensor::of({1, 2, 3}, {2, 1, 0, 3, 1, 2}));
    autograd::attention(context, query, key, key, {.place = "self"});
  });
  const auto found = by_key(trace, {"self.scores", {0, 0, 0, 1}});
  EXPECT_FALSE(found.contains("key_column"));
  EXPECT_FALSE(by_key(trace, {"self.weights", {0, 0, 0, 1}}).empty());
  EXPECT_TRUE(by_key(trace, {"self.query", {0, 0, 0, 1}}).empty());  // only moved
}

}  // namespace
}  // namespace headlight::explain
