// Every operation of the list of cases: its results, its gradients, and the same bits for any
// number of threads. The references themselves are checked by differences.
#include "tests/op_cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

namespace headlight::tests {

void PrintTo(const Op& op, std::ostream* out) { *out << op.name; }

namespace {

using autograd::Context;
using autograd::Value;
using tensor::Shape;
using tensor::Tensor;

Numbers numbers_of(const Tensor& x) {
  const Tensor whole = x.contiguous();
  return Numbers(whole.data<float>(), whole.data<float>() + whole.elements());
}

Tensor tensor_of(const Shape& shape, const Numbers& numbers) {
  return Tensor::of(shape, std::vector<float>(numbers.begin(), numbers.end()));
}

References references_of(const OpCase& drawn) {
  References result;
  for (const OpInput& input : drawn.inputs) result.push_back(input.numbers);
  return result;
}

// An input as a Value: as it is, or as columns of a wider one, so that its rows are not adjacent.
struct EngineInput {
  Value whole;
  Value value;

  EngineInput(const OpInput& input, bool wide, bool wants_gradient) {
    if (!wide || input.one_piece || input.shape.rank() < 2) {
      whole = value = Value::leaf(tensor_of(input.shape, input.numbers), wants_gradient);
      return;
    }
    const int64_t width = input.shape[-1];
    const int64_t wide_width = width + 3;
    const int64_t rows = input.shape.with(-1, 1).elements();
    Numbers numbers(static_cast<size_t>(rows * wide_width), std::nan(""));
    for (int64_t row = 0; row < rows; ++row) {
      std::copy_n(input.numbers.begin() + row * width, width,
                  numbers.begin() + row * wide_width + 1);
    }
    whole = Value::leaf(tensor_of(input.shape.with(-1, wide_width), numbers), wants_gradient);
    value = slice(whole, -1, 1, width);
  }
};

struct Plan {
  int threads = 2;
  bool wide = false;
  int passes = 1;  // whose gradients add up
  std::vector<bool> wants_gradient;
  Numbers d_output;  // empty: forward only, without a tape
  autograd::Recording* recording = nullptr;
};

struct EngineRun {
  Numbers output;
  References gradients;  // empty where none has arrived
};

// Pools are kept: thousands of cases would start thousands of threads.
base::ThreadPool& pool_of(int threads) {
  static std::map<int, base::ThreadPool> pools;
  return pools.try_emplace(threads, threads).first->second;
}

EngineRun run_engine(const OpCase& drawn, const Plan& plan) {
  tensor::Arena arena;
  autograd::Tape tape;
  const bool backward = !plan.d_output.empty();
  Context context{.threads = pool_of(plan.threads),
                  .arena = arena,
                  .tape = backward ? &tape : nullptr,
                  .observer = plan.recording,
                  .random = drawn.random,
                  .training = true};
  std::vector<EngineInput> inputs;
  std::vector<Value> values;
  for (size_t i = 0; i < drawn.inputs.size(); ++i) {
    const bool wants = plan.wants_gradient.empty() || plan.wants_gradient[i];
    inputs.emplace_back(drawn.inputs[i], plan.wide, wants);
    values.push_back(inputs.back().value);
  }
  EngineRun run;
  for (int pass = 0; pass < plan.passes; ++pass) {
    const Value output = drawn.engine(context, values);
    run.output = numbers_of(output.data());
    if (backward && output.requires_grad()) {
      tape.backward(context, output, tensor_of(output.shape(), plan.d_output));
    }
  }
  for (const Value& value : values) {
    const Tensor gradient = value.grad();
    run.gradients.push_back(gradient.defined() ? numbers_of(gradient) : Numbers());
  }
  return run;
}

double largest(const Numbers& numbers) {
  double result = 0;
  for (const double number : numbers) {
    if (std::isfinite(number)) result = std::max(result, std::abs(number));
  }
  return result;
}

void expect_close(const Numbers& actual, const Numbers& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i]) continue;  // infinities too
    ASSERT_LE(std::abs(actual[i] - expected[i]), tolerance)
        << what << "[" << i << "]: " << actual[i] << " instead of " << expected[i];
  }
}

double product_sum(const Numbers& a, const Numbers& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// The derivative of sum(forward(inputs) * d_output) when input `which` moves along `direction`.
double difference(const OpCase& drawn, References inputs, size_t which, const Numbers& direction,
                  const Numbers& d_output) {
  constexpr double kStep = 1e-5;
  const Numbers start = inputs[which];
  double sums[2];
  for (const int side : {0, 1}) {
    for (size_t i = 0; i < start.size(); ++i) {
      inputs[which][i] = start[i] + (side == 0 ? -kStep : kStep) * direction[i];
    }
    sums[side] = 0;
    const Numbers output = drawn.forward(inputs);
    for (size_t i = 0; i < output.size(); ++i) {
      if (d_output[i] != 0) sums[side] += output[i] * d_output[i];
    }
  }
  return (sums[1] - sums[0]) / (2 * kStep);
}

class OpCases : public testing::TestWithParam<Op> {
 protected:
  // f(case, its draw, d_output) for each case; stops at the first failure and names it.
  template <class F>
  void each_case(const F& f) {
    for (int index = 0; index < GetParam().cases && !HasFatalFailure(); ++index) {
      SCOPED_TRACE(std::string(GetParam().name) + " case " + std::to_string(index));
      Draw draw = Draw::random(GetParam().name, static_cast<uint64_t>(index));
      const OpCase drawn = GetParam().draw(draw);
      const Numbers output = drawn.forward(references_of(drawn));
      Numbers d_output = draw.normal(static_cast<int64_t>(output.size()));
      // What is infinite (the logarithm of 0) has no gradient to ask for.
      for (size_t i = 0; i < output.size(); ++i) {
        if (!std::isfinite(output[i])) d_output[i] = 0;
      }
      f(drawn, draw, d_output);
    }
  }
};

TEST_P(OpCases, give_the_results_of_the_reference) {
  each_case([](const OpCase& drawn, Draw&, const Numbers&) {
    const Numbers expected = drawn.forward(references_of(drawn));
    const EngineRun run = run_engine(drawn, {});
    expect_close(run.output, expected, 2e-5 * std::max(largest(expected), 1e-2), "output");
  });
}

TEST_P(OpCases, have_references_whose_gradients_are_those_of_differences) {
  each_case([](const OpCase& drawn, Draw& draw, const Numbers& d_output) {
    const References inputs = references_of(drawn);
    const References gradients = drawn.backward(inputs, d_output);
    ASSERT_EQ(gradients.size(), inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Numbers direction = draw.normal(static_cast<int64_t>(inputs[i].size()));
      ASSERT_EQ(gradients[i].size(), direction.size());
      const double exact = product_sum(gradients[i], direction);
      const double measured = difference(drawn, inputs, i, direction, d_output);
      ASSERT_NEAR(measured, exact, 2e-7 * (10 + std::abs(exact))) << drawn.inputs[i].name;
    }
  });
}

TEST_P(OpCases, give_the_gradients_of_the_reference) {
  each_case([](const OpCase& drawn, Draw& draw, const Numbers& d_output) {
    if (d_output.empty()) return;
    References expected = drawn.backward(references_of(drawn), d_output);
    Plan plan{.wide = draw.chance(), .wants_gradient = {}, .d_output = d_output};
    if (draw.chance(0.3)) {
      plan.passes = 2;
      for (Numbers& gradient : expected) {
        for (double& number : gradient) number *= 2;
      }
    }
    const bool all = draw.chance(0.7);
    for (size_t i = 0; i < expected.size(); ++i) {
      plan.wants_gradient.push_back(all || draw.chance());
    }
    const EngineRun run = run_engine(drawn, plan);
    double scale = 1e-2;
    for (const Numbers& gradient : expected) scale = std::max(scale, largest(gradient));
    for (size_t i = 0; i < expected.size(); ++i) {
      if (plan.wants_gradient[i]) {
        expect_close(run.gradients[i], expected[i], 1e-4 * scale, drawn.inputs[i].name);
      } else {
        ASSERT_TRUE(run.gradients[i].empty()) << drawn.inputs[i].name;
      }
    }
  });
}

TEST_P(OpCases, report_themselves_and_give_the_same_bits_when_somebody_listens) {
  each_case([](const OpCase& drawn, Draw& draw, const Numbers& d_output) {
    if (draw.between(0, 3) != 0 || d_output.empty()) return;
    autograd::Recording recording;
    const EngineRun alone = run_engine(drawn, {.wants_gradient = {}, .d_output = d_output});
    const EngineRun heard =
        run_engine(drawn, {.wants_gradient = {}, .d_output = d_output, .recording = &recording});
    ASSERT_EQ(alone.output, heard.output);
    ASSERT_EQ(alone.gradients, heard.gradients);
    const auto reports =
        std::count_if(recording.steps().begin(), recording.steps().end(),
                      [](const auto& step) { return step.report.operation == GetParam().name; });
    // Dropout that drops nothing is no operation.
    ASSERT_TRUE(reports == 1 || (reports == 0 && GetParam().name == std::string_view("dropout")));
    for (const autograd::Recording::Step& step : recording.steps()) {
      EXPECT_FALSE(step.inputs.empty());
      EXPECT_NE(step.output("output"), autograd::Recording::kUnknown);
    }
  });
}

TEST_P(OpCases, give_the_same_bits_for_any_number_of_threads_and_with_or_without_a_tape) {
  each_case([](const OpCase& drawn, Draw& draw, const Numbers& d_output) {
    if (draw.between(0, 3) != 0 || d_output.empty()) return;
    const EngineRun one =
        run_engine(drawn, {.threads = 1, .wants_gradient = {}, .d_output = d_output});
    const EngineRun many =
        run_engine(drawn, {.threads = 5, .wants_gradient = {}, .d_output = d_output});
    ASSERT_EQ(one.output, many.output);
    ASSERT_EQ(one.gradients, many.gradients);
    ASSERT_EQ(one.output, run_engine(drawn, {}).output);
  });
}

TEST_P(OpCases, run_at_the_size_of_the_benchmark) {
  Draw draw = Draw::typical();
  const OpCase drawn = GetParam().draw(draw);
  const EngineRun forward = run_engine(drawn, {});
  ASSERT_FALSE(forward.output.empty());
  const EngineRun both =
      run_engine(drawn, {.wants_gradient = {}, .d_output = Numbers(forward.output.size(), 1.0)});
  EXPECT_EQ(both.output, forward.output);
  for (const Numbers& gradient : both.gradients) {
    ASSERT_FALSE(gradient.empty());
    EXPECT_TRUE(std::isfinite(std::accumulate(gradient.begin(), gradient.end(), 0.0)));
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpCases, testing::ValuesIn(op_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(OpCaseList, draws_two_thousand_cases_and_five_hundred_of_attention) {
  int total = 0;
  int attention = 0;
  for (const Op& op : op_cases()) {
    total += op.cases;
    if (std::string_view(op.name) == "attention") attention = op.cases;
  }
  EXPECT_GE(total, 2000);
  EXPECT_GE(attention, 500);
}

}  // namespace
}  // namespace headlight::tests
