// TransformerBlock against a block in doubles: results, gradients, and decoding with caches.
#include "tests/nn/block_cases.h"
#include "tests/nn/plain_block.h"
#include "tests/nn/support.h"

namespace headlight::nn {
namespace {

using Block = tests::Autograd;

constexpr int64_t kRows = 6;
constexpr int64_t kMemoryRows = 5;

Matrix sequence(const Tensor& x, int64_t b, int64_t rows) {
  Matrix matrix(rows, x.size(2));
  const float* from = x.data<float>() + b * x.size(1) * x.size(2);
  std::copy_n(from, matrix.numbers.size(), matrix.numbers.begin());
  return matrix;
}

Tensor counts(const std::vector<int64_t>& values) {
  return Tensor::of({static_cast<int64_t>(values.size())}, values);
}

// Two sequences, the second shorter, with what cross-attention looks at.
struct Input {
  explicit Input(int64_t width, const std::vector<int64_t>& sequence_lens = {kRows, kRows - 2})
      : lens(sequence_lens),
        x(random_leaf({2, kRows, width}, 1)),
        memory(random_leaf({2, kMemoryRows, width}, 2)) {}

  TransformerBlock::Call call(const TransformerBlockOptions& options) const {
    TransformerBlock::Call call{.lens = counts(lens)};
    if (options.cross_attention) {
      call.memory = memory;
      call.memory_lens = counts(memory_lens);
    }
    return call;
  }
  Matrix plain(const TransformerBlockOptions& options, const PlainState& state, int64_t b) const {
    const auto at = static_cast<size_t>(b);
    return plain_block(options, state, sequence(x.data(), b, lens[at]),
                       sequence(memory.data(), b, memory_lens[at]));
  }

  std::vector<int64_t> lens;
  std::vector<int64_t> memory_lens = {kMemoryRows, 3};
  Value x;
  Value memory;
};

TEST_F(Block, computes_what_the_formulas_say) {
  for (const BlockCase& one : block_cases()) {
    SCOPED_TRACE(one.name);
    Context context = inference_context();
    const TransformerBlock block = drawn_block(one.options);
    const Input input(one.options.width);
    const Tensor got =
        block.forward(context, {input.x}, input.call(one.options)).total(context).data();
    for (int64_t b = 0; b < 2; ++b) {
      const Matrix expected = input.plain(one.options, plain_state(block.parameters()), b);
      double most = 0;
      double difference = 0;
      for (int64_t i = 0; i < expected.rows; ++i) {
        for (int64_t j = 0; j < expected.columns; ++j) {
          const float number = got.data<float>()[(b * kRows + i) * expected.columns + j];
          most = std::max(most, std::abs(expected.at(i, j)));
          difference = std::max(difference, std::abs(expected.at(i, j) - number));
        }
      }
      EXPECT_LE(difference, 3e-6 * most) << "sequence " << b;
    }
  }
}

TEST_F(Block, a_branch_still_to_add_is_added_first) {
  for (const BlockCase& one : block_cases()) {
    SCOPED_TRACE(one.name);
    Context context = inference_context();
    const TransformerBlock block = drawn_block(one.options);
    const Input input(one.options.width);
    const Value branch = random_leaf(input.x.shape(), 3);
    const TransformerBlock::Call call = input.call(one.options);
    const Value sum = autograd::add(context, branch, input.x);
    EXPECT_TRUE(same_bits(block.forward(context, {input.x, branch}, call).total(context).data(),
                          block.forward(context, {sum}, call).total(context).data()));
  }
}

// sum(block(x) * weights) over the rows that count.
double plain_loss(const TransformerBlockOptions& options, const PlainState& state,
                  const Input& input, const Tensor& weights) {
  double loss = 0;
  for (int64_t b = 0; b < 2; ++b) {
    const Matrix y = input.plain(options, state, b);
    const Matrix factors = sequence(weights, b, y.rows);
    for (size_t i = 0; i < y.numbers.size(); ++i) loss += y.numbers[i] * factors.numbers[i];
  }
  return loss;
}

TEST_F(Block, gradients_are_those_of_finite_differences) {
  constexpr double kStep = 1e-5;
  for (const BlockCase& one : block_cases()) {
    SCOPED_TRACE(one.name);
    Context context = recording_context();
    const TransformerBlock block = drawn_block(one.options);
    const Input input(one.options.width);
    Tensor weights = random_leaf(input.x.shape(), 4).data();
    for (int64_t i = input.lens[1]; i < kRows; ++i) {  // rows of padding do not count
      std::fill_n(weights.mutable_data<float>() + (kRows + i) * one.options.width,
                  one.options.width, 0.0F);
    }
    const Value output = block.forward(context, {input.x}, input.call(one.options)).total(context);
    tape_.backward(context, output, weights);

    PlainState state = plain_state(block.parameters());
    for (const ParameterHandle& parameter : block.parameters()) {
      std::vector<double>& numbers = state.at(parameter->name());
      const std::vector<float> got = floats(parameter->grad());
      ASSERT_EQ(got.size(), numbers.size());
      for (size_t i = 0; i < numbers.size(); i += 1 + numbers.size() / 8) {
        const double before = numbers[i];
        numbers[i] = before + kStep;
        const double above = plain_loss(one.options, state, input, weights);
        numbers[i] = before - kStep;
        const double below = plain_loss(one.options, state, input, weights);
        numbers[i] = before;
        const double expected = (above - below) / (2 * kStep);
        EXPECT_NEAR(got[i], expected, 1e-4 * std::max(1.0, std::abs(expected)))
            << parameter->name() << "[" << i << "]";
      }
    }
    const float* d_x = input.x.grad().data<float>();
    for (int64_t i = 0; i < input.lens[0] * one.options.width; i += 7) {
      Input moved(one.options.width);
      Tensor moved_x = moved.x.data();
      float& number = moved_x.mutable_data<float>()[i];
      const float before = number;
      constexpr float kFloatStep = 1.0F / 1024;  // exact in float
      number = before + kFloatStep;
      const double above = plain_loss(one.options, state, moved, weights);
      const double span = static_cast<double>(number);
      number = before - kFloatStep;
      const double below = plain_loss(one.options, state, moved, weights);
      const double expected = (above - below) / (span - static_cast<double>(number));
      EXPECT_NEAR(d_x[i], expected, 1e-3 * std::max(1.0, std::abs(expected))) << "x[" << i << "]";
    }
  }
}

// Rows of both sequences in one piece; what is beyond a sequence's share of the piece is NaN.
Value piece(const Value& x, const std::vector<int64_t>& first, const std::vector<int64_t>& lens) {
  const int64_t width = x.size(2);
  const int64_t rows = *std::max_element(lens.begin(), lens.end());
  Tensor rows_of_both = Tensor::uninitialized(DType::f32, {2, rows, width});
  std::fill_n(rows_of_both.mutable_data<float>(), rows_of_both.elements(), NAN);
  for (size_t b = 0; b < 2; ++b) {
    const auto at = static_cast<int64_t>(b);
    std::copy_n(x.data().data<float>() + (at * x.size(1) + first[b]) * width, lens[b] * width,
                rows_of_both.mutable_data<float>() + at * rows * width);
  }
  return Value::leaf(rows_of_both);
}

TEST_F(Block, in_pieces_with_a_cache_it_has_the_bits_of_a_whole_run) {
  // How many rows of each sequence the pieces have: as many, unequal, one by one.
  const std::vector<std::vector<std::vector<int64_t>>> schedules = {
      {{5, 5}, {1, 1}, {2, 2}},
      {{4, 1}, {1, 2}, {3, 5}},
      {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}};
  for (const BlockCase& one : block_cases()) {
    if (!one.options.causal) continue;
    SCOPED_TRACE(one.name);
    Context context = inference_context();
    const TransformerBlock block = drawn_block(one.options);
    const Value x = random_leaf({2, 8, one.options.width}, 1, false);
    const Input input(one.options.width);
    TransformerBlock::Call call = input.call(one.options);
    call.lens = {};
    const Tensor whole = block.forward(context, {x}, call).total(context).data();
    for (const auto& schedule : schedules) {
      LayerCache cache;
      if (one.options.cross_attention) {
        block.remember(context, call.memory, call.memory_lens, cache);
      }
      std::vector<int64_t> first = {0, 0};
      for (const std::vector<int64_t>& lens : schedule) {
        const Tensor got =
            block.forward(context, {piece(x, first, lens)}, {.lens = counts(lens)}, &cache)
                .total(context)
                .data();
        for (size_t b = 0; b < 2; ++b) {
          const auto at = static_cast<int64_t>(b);
          EXPECT_TRUE(same_bits(got.slice(0, at, 1).slice(1, 0, lens[b]),
                                whole.slice(0, at, 1).slice(1, first[b], lens[b])))
              << "sequence " << b << " from row " << first[b];
          first[b] += lens[b];
        }
      }
    }
  }
}

TEST_F(Block, has_the_same_bits_with_an_observer_and_a_tape) {
  for (const BlockCase& one : block_cases()) {
    SCOPED_TRACE(one.name);
    Context quiet = inference_context();
    const TransformerBlock block = drawn_block(one.options);
    const Input input(one.options.width);
    const TransformerBlock::Call call = input.call(one.options);
    const Tensor unseen = block.forward(quiet, {input.x}, call).total(quiet).data();
    Keeper keeper;
    Context seen = recording_context();
    seen.observer = &keeper;
    EXPECT_TRUE(same_bits(block.forward(seen, {input.x}, call).total(seen).data(), unseen));
    EXPECT_TRUE(same_bits(keeper.seen.at("decoder.0.residual_in"), input.x.data()));
    EXPECT_TRUE(same_bits(keeper.seen.at("decoder.0.residual_out"), unseen));
    tape_.clear();
  }
}

TEST_F(Block, a_plain_one_records_seven_operations) {
  TransformerBlockOptions options = plain_decoder();
  options.names.self = fused_names();
  const TransformerBlock block = drawn_block(options);
  const Value x = random_leaf({1, kRows, options.width}, 1);
  Context context = recording_context();
  // Norm, projections, attention, output, sum and norm, two feed-forward layers.
  const Residual first = block.forward(context, {x}, {});
  EXPECT_EQ(tape_.size(), 7U);
  block.forward(context, first, {});  // its first norm adds what is left to add
  EXPECT_EQ(tape_.size(), 14U);
  tape_.clear();
}

TEST_F(Block, norms_are_numbered_in_the_order_in_which_they_compute) {
  const auto inputs = [this](const TransformerBlockOptions& options) {
    Context context = inference_context();
    Keeper keeper;
    context.observer = &keeper;
    const TransformerBlock block = drawn_block(options);
    const Input input(options.width);
    block.forward(context, {input.x}, input.call(options)).total(context);
    return keeper.seen;
  };
  TransformerBlockOptions options = plain_decoder();
  std::map<std::string, Tensor> seen = inputs(options);
  EXPECT_TRUE(same_bits(seen.at("decoder.0.norm_1.input"), seen.at("decoder.0.residual_in")));
  EXPECT_FALSE(seen.contains("decoder.0.norm_3.input"));

  options.norm_place = NormPlace::both;
  options.names.self_output_norm = "a";
  options.names.feed_forward_output_norm = "b";
  seen = inputs(options);
  EXPECT_TRUE(same_bits(seen.at("decoder.0.norm_2.input"), seen.at("decoder.0.self.output")));
  EXPECT_TRUE(same_bits(seen.at("decoder.0.norm_4.input"), seen.at("decoder.0.ffn.output")));

  options.names.self_norm.clear();
  seen = inputs(options);
  EXPECT_TRUE(same_bits(seen.at("decoder.0.norm_1.input"), seen.at("decoder.0.self.output")));

  options = plain_decoder();
  options.order = SublayerOrder::parallel;
  seen = inputs(options);
  EXPECT_TRUE(same_bits(seen.at("decoder.0.norm_2.input"), seen.at("decoder.0.residual_in")));
}

TEST_F(Block, sums_that_no_norm_shows_have_names) {
  TransformerBlockOptions options = plain_decoder();
  const auto look = [&options, this] {
    Context context = inference_context();
    Keeper keeper;
    context.observer = &keeper;
    drawn_block(options).forward(context, {random_leaf({1, 3, 12}, 1)}, {});
    return keeper.seen;
  };
  EXPECT_FALSE(look().contains("decoder.0.residual_after_self"));
  options.names.feed_forward_norm.clear();
  std::map<std::string, Tensor> seen = look();
  Context context = inference_context();
  const auto sum = [&](const char* a, const char* b) {
    return autograd::add(context, Value::leaf(seen.at(a)), Value::leaf(seen.at(b))).data();
  };
  EXPECT_TRUE(same_bits(seen.at("decoder.0.residual_after_self"),
                        sum("decoder.0.residual_in", "decoder.0.self.output")));
  options.order = SublayerOrder::parallel;
  seen = look();
  EXPECT_TRUE(same_bits(seen.at("decoder.0.sublayer_sum"),
                        sum("decoder.0.self.output", "decoder.0.ffn.output")));
  EXPECT_TRUE(same_bits(seen.at("decoder.0.residual_out"),
                        sum("decoder.0.sublayer_sum", "decoder.0.residual_in")));
}

TEST_F(Block, parameters_are_in_the_order_of_the_sublayers) {
  const auto names = [](const TransformerBlockOptions& options) {
    std::vector<std::string> all;
    for (const ParameterHandle& parameter : TransformerBlock(options).parameters()) {
      all.push_back(parameter->name());
    }
    return all;
  };
  TransformerBlockOptions options = plain_decoder();
  options.qkv_bias = options.out_bias = options.feed_forward_bias = options.norm_bias = false;
  options.norm_place = NormPlace::both;
  options.names.self_output_norm = "self_output_norm";
  EXPECT_EQ(names(options),
            (std::vector<std::string>{"self_norm.weight", "self.q.weight", "self.k.weight",
                                      "self.v.weight", "self.o.weight", "self_output_norm.weight",
                                      "feed_forward_norm.weight", "up.weight", "down.weight"}));
}

TEST_F(Block, refuses_what_does_not_go_together) {
  const auto refusal = [](const auto& change) {
    TransformerBlockOptions options = plain_decoder();
    change(options);
    return error_of([&] { TransformerBlock block(options); });
  };
  using Options = TransformerBlockOptions;
  expect_has(refusal([](Options& o) { o.width = 0; }),
             "transformer block (decoder.0): width is 0, at least 1 is needed");
  expect_has(refusal([](Options& o) { o.hidden = -3; }), "hidden is -3, at least 1 is needed");
  expect_has(refusal([](Options& o) {
               o.order = SublayerOrder::parallel;
               o.norm_place = NormPlace::post;
             }),
             "parallel sublayers have norms before them");
  expect_has(refusal([](Options& o) {
               o.order = SublayerOrder::parallel;
               o.cross_attention = true;
             }),
             "cross-attention would be a third");
  expect_has(refusal([](Options& o) { o.names.self_output_norm = "norm"; }),
             "output norm norm needs norms at both places");
  expect_has(refusal([](Options& o) { o.norm_weight_offset = 1; }),
             "norm (self_norm): weight_offset is 1.000000, a layer norm multiplies by the weight");
  expect_has(refusal([](Options& o) {
               o.rotation.rates = {1, 2, 3, 4};
             }),
             "(decoder.0.self): rotation has rates for 8 columns, heads have 6");
  expect_has(refusal([](Options& o) {
               o.position_bias.slopes = {1, 2, 3};
             }),
             "there are 3 slopes of position biases for 2 heads");
  expect_has(refusal([](Options& o) {
               o.position_bias.slopes = {1, 2};
               o.names.self.position_bias = "table";
             }),
             "position biases have slopes or a table, not both");
  expect_has(refusal([](Options& o) {
               o.position_bias.table = std::make_shared<Parameter>("t", Shape{32, 3});
             }),
             "the table of position biases is [32, 3] for 2 heads");
  expect_has(refusal([](Options& o) {
               o.names.self.position_bias = "table";
               o.position_bias.buckets = 3;
             }),
             "position biases of 3 buckets, 1 for each side, and max_distance 128");
  expect_has(refusal([](Options& o) {
               o.names.self.position_bias = "table";
               o.position_bias.max_distance = 8;
             }),
             "32 buckets, 16 for each side, and max_distance 8: at least 2 and more than 8");
  expect_has(refusal([](Options& o) { o.heads = 5; }),
             "(decoder.0.self): width 12 cannot be split into 5 heads");
  expect_has(refusal([](Options& o) { o.heads = 4, o.kv_heads = 3; }),
             "4 heads cannot share 3 key/value heads evenly");
}

}  // namespace
}  // namespace headlight::nn
