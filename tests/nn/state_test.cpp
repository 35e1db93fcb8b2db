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
  stored.load_rows = [numbers, &rows](int64_t begin, int64_t count, std::byte* to) {
    const int64_t width = static_cast<int64_t>(numbers.bytes()) / numbers.size(0);
    std::copy_n(numbers.raw() + begin * width, count * width, to);
    rows += count;
  };
  return stored;
}

// Random numbers up to 2 of a weight's dtype.
Tensor numbers_of(DType dtype, const Shape& shape) {
  Tensor numbers = Tensor::uninitialized(dtype, shape);
  const base::Random random(17);
  for (int64_t i = 0; i < numbers.elements(); ++i) {
    const auto at = static_cast<uint64_t>(i);
    if (dtype == DType::f32) {
      numbers.mutable_data<float>()[i] = random.normal(at);
    } else {
      const uint32_t kept = dtype == DType::f16 ? 0xBFFF : 0xBF80;
      numbers.mutable_data<uint16_t>()[i] = static_cast<uint16_t>(random.bits(at) & kept);
    }
  }
  return numbers;
}

// Two layers with the same numbers, one of them packed as they are read, have the same bits
// whatever is asked of them.
void expect_packed_as_read(const LinearOptions& options, DType dtype, bool has_rows) {
  base::ThreadPool threads(3);
  const Linear plain("fc", options);
  const Linear packed("fc", options);
  const Shape& shape = plain.parameters()[0]->shape();
  const Tensor stored = numbers_of(dtype, shape);
  const StateDict state{{"fc.weight", stored}, {"fc.bias", numbers_of(DType::f32, {517})}};
  load_state(plain.parameters(), state);
  std::atomic<int64_t> rows = 0;
  StoredState by_row = nn::stored(state);
  if (has_rows) by_row["fc.weight"] = by_rows(stored, rows);
  const LoadOptions as_run{.threads = &threads, .packed = true};
  const uint64_t bytes = loaded_bytes(packed.parameters(), by_row, as_run);
  load_state(packed.parameters(), by_row, {}, "test", as_run);
  const Parameter& weight = *packed.parameters()[0];
  const bool stays_narrow = dtype != DType::f32 && has_rows && options.inputs % 2 == 0 &&
                            options.layout == WeightLayout::out_in;
  EXPECT_NEAR(weight.held_bytes(), (stays_narrow ? 2 : 4) * options.inputs * 517,
              4 * options.inputs * 31);  // the last panel is filled up
  EXPECT_NEAR(bytes, weight.held_bytes() + 517 * sizeof(float), 64);
  EXPECT_EQ(rows, has_rows ? shape[0] : 0);
  EXPECT_NE(weight.borrowed().raw(), weight.borrowed().raw());  // unpacked for each
  const std::vector<int64_t> some = {0, 299, 7};
  std::vector<float> copied(static_cast<size_t>(3 * shape[1]));
  std::vector<float> expected(copied.size());
  weight.copy_rows(some, copied.data());
  plain.parameters()[0]->copy_rows(some, expected.data());
  EXPECT_EQ(copied, expected);
  tensor::Arena arena;
  Context context{.threads = threads, .arena = arena};
  for (const int64_t positions : {1, 4, 100}) {
    const Value x = random_leaf({positions, options.inputs}, 5);
    EXPECT_TRUE(same_bits(plain.forward(context, x).data(), packed.forward(context, x).data()));
  }
  const uint64_t before = weight.held_bytes();
  EXPECT_TRUE(same_bits(weight.value().data(), plain.parameters()[0]->value().data()));
  EXPECT_EQ(weight.held_bytes(), before + weight.value().data().bytes());
}

TEST(State, is_packed_as_it_is_read) {
  for (const WeightLayout layout : {WeightLayout::out_in, WeightLayout::in_out}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      for (const int64_t inputs : {301, 302}) {
        for (const bool has_rows : {true, false}) {
          expect_packed_as_read({.inputs = inputs, .outputs = 517, .layout = layout}, dtype,
                                has_rows);
        }
      }
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
