// The reference numbers of shared/golden: outputs, per-head weights and all gradients of the stored
// layouts, of grouped heads and of additive scoring.
#include <filesystem>

#include "headlight/io/io.h"
#include "tests/nn/support.h"
#include "tests/places.h"

namespace headlight::nn {
namespace {

constexpr float kOutputTolerance = 2e-5F;    // of the largest entry
constexpr float kGradientTolerance = 1e-4F;  // of the largest gradient in the file

class Golden {
 public:
  explicit Golden(const std::string& name)
      : file_(io::open_safetensors(base::real_files(), path(name))) {
    for (const auto& entry : file_.entries()) {
      tensors_[entry.name] = file_.load(entry);
      if (entry.name.starts_with("grad.")) {
        largest_gradient_ = std::max(largest_gradient_, largest(tensors_[entry.name]));
      }
    }
  }
  static std::string path(const std::string& name) {
    return tests::shared_folder() + "/golden/" + name + ".safetensors";
  }

  const StateDict& tensors() const { return tensors_; }
  bool has(const std::string& name) const { return tensors_.contains(name); }
  const Tensor& in(const std::string& name) const { return tensors_.at("in." + name); }
  Value value(const std::string& name) const { return Value::leaf(in(name), true); }
  const std::string& option(const std::string& name) const { return file_.metadata().at(name); }
  bool has_option(const std::string& name) const { return file_.metadata().contains(name); }

  void expect_output(const std::string& name, const Tensor& got) const {
    const Tensor& expected = tensors_.at("out." + name);
    EXPECT_LE(distance(got, expected), kOutputTolerance * largest(expected)) << name;
  }
  void expect_gradient(const std::string& name, const Tensor& got) const {
    EXPECT_LE(distance(got, tensors_.at("grad." + name)), kGradientTolerance * largest_gradient_)
        << name;
  }
  size_t gradients() const {
    return static_cast<size_t>(std::count_if(tensors_.begin(), tensors_.end(), [](const auto& one) {
      return one.first.starts_with("grad.");
    }));
  }

 private:
  io::Safetensors file_;
  StateDict tensors_;
  float largest_gradient_ = 0;
};

#define SKIP_WITHOUT(name)                                 \
  if (!std::filesystem::exists(Golden::path(name))) {      \
    GTEST_SKIP() << Golden::path(name) << " is not there"; \
  }

AttentionOptions masks_of(const Golden& golden) {
  AttentionOptions masks;
  masks.causal = golden.has_option("causal");
  if (golden.has_option("scale")) masks.scale = std::stof(golden.option("scale"));
  if (golden.has("in.valid_lens")) masks.valid_lens = golden.in("valid_lens");
  if (golden.has("in.keep")) masks.keep_mask = golden.in("keep");
  return masks;
}

class GoldenModule : public tests::Autograd, public testing::WithParamInterface<const char*> {};

using GoldenOperation = tests::Autograd;

TEST_P(GoldenModule, matches_outputs_weights_and_gradients) {
  SKIP_WITHOUT(GetParam());
  const Golden golden(GetParam());
  Context context = recording_context();
  Keeper keeper({"test.weights"});
  context.observer = &keeper;
  const MultiHeadAttention attention = load_attention(
      golden.tensors(),
      {.prefix = "in", .heads = std::stoll(golden.option("heads")), .place = "test"});

  std::vector<std::string> names{"query", "key", "value"};
  if (golden.has("in.queries")) names = {"queries", "keys", "values"};
  if (golden.has("in.x")) names = {"x"};
  std::vector<Value> inputs;
  for (const std::string& name : names) inputs.push_back(golden.value(name));
  const Value output = inputs.size() == 1 ? attention.forward(context, inputs[0], masks_of(golden))
                                          : attention.forward(context, inputs[0], inputs[1],
                                                              inputs[2], masks_of(golden));
  golden.expect_output("output", output.data());
  golden.expect_output("weights", keeper.seen["test.weights"]);

  tape_.backward(context, output, golden.in("grad_out"));
  for (size_t i = 0; i < names.size(); ++i) golden.expect_gradient(names[i], inputs[i].grad());
  for (const ParameterHandle& parameter : attention.parameters()) {
    golden.expect_gradient(parameter->name().substr(3), parameter->grad());
  }
  EXPECT_EQ(golden.gradients(), names.size() + attention.parameters().size());
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenModule,
                         testing::Values("module-fused-causal", "module-named-causal",
                                         "module-torch-cross", "module-d2l-valid-lens-1d",
                                         "module-d2l-valid-lens-2d", "module-d2l-free-widths"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(GoldenOperation, grouped_heads_match_with_window_cap_bias_gates_and_offset) {
  SKIP_WITHOUT("raw-grouped");
  const Golden golden("raw-grouped");
  Context context = recording_context();
  Keeper keeper({"weights"});
  context.observer = &keeper;
  const Value query = golden.value("query");
  const Value key = golden.value("key");
  const Value value = golden.value("value");
  const int64_t past = std::stoll(golden.option("past"));
  const AttentionOptions options{.softcap = std::stof(golden.option("softcap")),
                                 .causal = true,
                                 .window = std::stoll(golden.option("window")),
                                 .past = Tensor::of({2}, std::vector<int64_t>{past, past}),
                                 .bias = golden.value("bias"),
                                 .gates = golden.value("head_gates")};
  const Value output = autograd::attention(context, query, key, value, options);
  golden.expect_output("output", output.data());
  golden.expect_output("weights", keeper.seen["weights"]);
  tape_.backward(context, output, golden.in("grad_out"));
  golden.expect_gradient("query", query.grad());
  golden.expect_gradient("key", key.grad());
  golden.expect_gradient("value", value.grad());
  golden.expect_gradient("bias", options.bias.grad());
  golden.expect_gradient("head_gates", options.gates.grad());
}

TEST_F(GoldenOperation, additive_scoring_matches) {
  SKIP_WITHOUT("additive-scoring");
  const Golden golden("additive-scoring");
  Context context = recording_context();
  Keeper keeper({"test.head.0.weights"});
  context.observer = &keeper;
  const AdditiveAttention attention =
      AdditiveAttention::load(golden.tensors(), {.prefix = "in", .place = "test"});
  const Value queries = golden.value("queries");
  const Value keys = golden.value("keys");
  const Value values = golden.value("values");
  const Value output = attention.forward(context, queries, keys, values);
  golden.expect_output("output", output.data());
  golden.expect_output("weights", keeper.seen["test.head.0.weights"]);
  tape_.backward(context, output, golden.in("grad_out"));
  golden.expect_gradient("queries", queries.grad());
  golden.expect_gradient("keys", keys.grad());
  golden.expect_gradient("values", values.grad());
  for (const ParameterHandle& parameter : attention.parameters()) {
    golden.expect_gradient(parameter->name().substr(3), parameter->grad());
  }
}

}  // namespace
}  // namespace headlight::nn
