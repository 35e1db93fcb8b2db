// Parameters and state dictionaries.
#include <atomic>

#include "tests/nn/support.h"

namespace headlight::nn {
namespace {

Parameters parameters_named(const std::vector<std::string>& names) {
  Parameters parameters;
  for (const std::string& name : names) {
    parameters.push_back(std::make_shared<Parameter>(name, Shape{2, 3}));
  }
  return parameters;
}

TEST(Parameter, without_numbers_cannot_be_used) {
  const Parameter parameter("h.0.weight", Shape{2, 3});
  EXPECT_FALSE(parameter.defined());
  expect_has(error_of([&] { parameter.value(); }), "parameter (h.0.weight): has shape [2, 3] but");
}

TEST(Parameter, takes_only_float32_of_its_shape) {
  Parameter parameter("weight", Shape{2, 3});
  expect_has(error_of([&] {
               parameter.assign(Tensor::zeros(DType::f32, {3, 2}));
             }),
             "is given float32 [3, 2], contiguous float32 [2, 3] is needed");
  expect_has(error_of([&] { parameter.assign(Tensor::zeros(DType::i64, {2, 3})); }), "int64");
}

TEST(Parameter, has_a_new_version_after_each_change) {
  Parameter parameter("weight", Tensor::zeros(DType::f32, {2}));
  const uint64_t before = parameter.version();
  parameter.change().mutable_data<float>()[0] = 5;
  EXPECT_NE(parameter.version(), before);
  EXPECT_EQ(parameter.value().data().data<float>()[0], 5);
}

TEST(Draw, depends_on_seed_and_name_alone) {
  const Parameters first = parameters_named({"a", "b"});
  const Parameters second = parameters_named({"b"});
  const Parameters other_seed = parameters_named({"b"});
  draw_normal(first, 7, 1);
  draw_normal(second, 7, 1);
  draw_normal(other_seed, 8, 1);
  EXPECT_TRUE(same_bits(first[1]->value().data(), second[0]->value().data()));
  EXPECT_FALSE(same_bits(first[0]->value().data(), first[1]->value().data()));
  EXPECT_FALSE(same_bits(second[0]->value().data(), other_seed[0]->value().data()));
}

TEST(Draw, leaves_numbers_that_are_there) {
  const Parameters parameters = {
      std::make_shared<Parameter>("bias", Tensor::zeros(DType::f32, {4}))};
  draw_normal(parameters, 1, 1);
  draw_xavier_uniform(parameters, 1);
  EXPECT_EQ(largest(parameters[0]->value().data()), 0);
}

TEST(Draw, has_the_deviation_and_the_bound_asked_for) {
  const Parameters normal = {std::make_shared<Parameter>("weight", Shape{100, 100})};
  draw_normal(normal, 1, 0.02F);
  double squares = 0;
  for (const float number : floats(normal[0]->value().data())) squares += number * number;
  EXPECT_NEAR(std::sqrt(squares / 10000), 0.02, 0.0005);

  const Parameters uniform = {std::make_shared<Parameter>("weight", Shape{100, 50})};
  draw_xavier_uniform(uniform, 1);
  EXPECT_LE(largest(uniform[0]->value().data()), 0.2F);
  EXPECT_GT(largest(uniform[0]->value().data()), 0.198F);
}

TEST(State, goes_out_and_comes_back) {
  const Parameters from = parameters_named({"a", "b"});
  draw_normal(from, 1, 1);
  const Parameters to = parameters_named({"b", "a"});
  load_state(to, save_state(from));
  EXPECT_TRUE(same_bits(from[0]->value().data(), to[1]->value().data()));
  EXPECT_TRUE(same_bits(from[1]->value().data(), to[0]->value().data()));
}

TEST(State, an_error_lists_five_of_each_kind_and_counts_all) {
  std::vector<std::string> names;
  for (int i = 0; i < 7; ++i) names.push_back("missing." + std::to_string(i));
  names.push_back("shape");
  StateDict state{{"shape", Tensor::zeros(DType::f32, {3})}};
  for (int i = 0; i < 6; ++i) state["odd." + std::to_string(i)] = Tensor::zeros(DType::f32, {1});
  const IgnoredNames none = [](const std::string&, const StoredTensor&) { return false; };
  const std::string error = error_of([&] { load_state(parameters_named(names), state, none); });
  expect_has(error, "7 missing: missing.0, missing.1, missing.2, missing.3, missing.4, ...;");
  expect_has(error, "1 of the wrong shape or type: shape is float32 [3] and should be [2, 3];");
  expect_has(error, "6 unexpected: odd.0, odd.1, odd.2, odd.3, odd.4, ...");
}

TEST(State, is_loaded_whole_or_not_at_all) {
  const Parameters parameters = parameters_named({"a", "b"});
  const StateDict state{{"a", Tensor::zeros(DType::f32, {2, 3})}};
  EXPECT_NE(error_of([&] { load_state(parameters, state); }), "");
  EXPECT_FALSE(parameters[0]->defined());
}

// A tensor that is read by rows, as those of files are; how many were is counted.
StoredTensor by_rows(const Tensor& numbers, std::atomic<int64_t>& rows) {
  StoredTensor stored{numbers.dtype(), numbers.shape(), [numbers] { return numbers; }, {}};
  stored.load_rows = [numbers, &rows](int64_t begin, int64_t count, float* to) {
    const int64_t width = numbers.elements() / numbers.size(0);
    std::copy_n(numbers.data<float>() + begin * width, count * width, to);
    rows += count;
  };
  return stored;
}

TEST(State, is_packed_as_it_is_read) {
  base::ThreadPool threads(3);
  for (const WeightLayout layout : {WeightLayout::out_in, WeightLayout::in_out}) {
    for (const bool has_rows : {true, false}) {
      const LinearOptions options{.inputs = 301, .outputs = 517, .layout = layout};
      const Linear plain("fc", options);
      const Linear packed("fc", options);
      draw_normal(plain.parameters(), 3, 1);
      std::atomic<int64_t> rows = 0;
      StoredState state = stored(save_state(plain.parameters()));
      if (has_rows) state["fc.weight"] = by_rows(plain.parameters()[0]->value().data(), rows);
      load_state(packed.parameters(), state, {}, "test", {.threads = &threads, .packed = true});
      const Parameter& weight = *packed.parameters()[0];
      EXPECT_EQ(rows, has_rows ? weight.shape()[0] : 0);
      EXPECT_NE(weight.borrowed().raw(), weight.borrowed().raw());  // unpacked for each
      const std::vector<int64_t> some = {0, 299, 7};
      std::vector<float> copied(static_cast<size_t>(3 * weight.shape()[1]));
      weight.copy_rows(some, copied.data());
      const float* numbers = plain.parameters()[0]->value().data().data<float>();
      for (size_t i = 0; i < copied.size(); ++i) {
        const int64_t width = weight.shape()[1];
        const auto column = static_cast<int64_t>(i) % width;
        ASSERT_EQ(copied[i], numbers[some[i / static_cast<size_t>(width)] * width + column]);
      }
      tensor::Arena arena;
      Context context{.threads = threads, .arena = arena};
      const Value x = random_leaf({4, 301}, 5);
      EXPECT_TRUE(same_bits(plain.forward(context, x).data(), packed.forward(context, x).data()));
      EXPECT_TRUE(same_bits(weight.value().data(), plain.parameters()[0]->value().data()));
    }
  }
}

TEST(State, of_several_errors_the_first_counts_and_nothing_is_taken) {
  base::ThreadPool threads(4);
  const Parameters parameters = parameters_named({"a", "b", "c"});
  StoredState state = stored(StateDict{{"a", Tensor::zeros(DType::f32, {2, 3})},
                                       {"b", Tensor::zeros(DType::f32, {2, 3})},
                                       {"c", Tensor::zeros(DType::f32, {2, 3})}});
  for (const char* name : {"b", "c"}) {
    state[name].load = [name]() -> Tensor {
      throw base::Error(base::ErrorKind::bad_input, "file", name, "is cut off");
    };
  }
  for (int i = 0; i < 20; ++i) {
    expect_has(error_of([&] { load_state(parameters, state, {}, "test", {.threads = &threads}); }),
               "file (b): is cut off");
    EXPECT_FALSE(parameters[0]->defined());
  }
}

TEST(State, lets_mask_buffers_pass) {
  const Parameters parameters = parameters_named({"a"});
  StateDict state{{"a", Tensor::zeros(DType::bf16, {2, 3})},
                  {"h.0.attn.bias", Tensor::zeros(DType::f32, {1, 1, 4, 4})},
                  {"h.0.attn.masked_bias", Tensor::zeros(DType::f32, {})},
                  {"mask", Tensor::zeros(DType::boolean, {4, 4})}};
  load_state(parameters, state, is_mask_buffer);
  EXPECT_EQ(largest(parameters[0]->value().data()), 0);
  state["h.0.ln.bias"] = Tensor::zeros(DType::f32, {4});
  expect_has(error_of([&] { load_state(parameters, state, is_mask_buffer); }),
             "1 unexpected: h.0.ln.bias");
}

}  // namespace
}  // namespace headlight::nn
