// The reference numbers of shared/golden through `headlight attend`: outputs, weights per head,
// every gradient.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/base/temporary_folder.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"
#include "tests/places.h"

namespace headlight::test {
namespace {

// Names of the file's inputs and the options they are given with.
const std::map<std::string, std::string> kInputOptions = {{"x", "query"},
                                                          {"queries", "query"},
                                                          {"query", "query"},
                                                          {"keys", "key"},
                                                          {"key", "key"},
                                                          {"values", "value"},
                                                          {"value", "value"},
                                                          {"bias", "bias"},
                                                          {"head_gates", "head-gates"},
                                                          {"valid_lens", "valid-lens"},
                                                          {"keep", "keep-mask"},
                                                          {"grad_out", "grad-out"}};

class GoldenAttend : public testing::TestWithParam<const char*> {
 protected:
  std::string path() const {
    return tests::shared_folder() + "/golden/" + std::string(GetParam()) + ".safetensors";
  }

  std::vector<std::string> arguments(const io::Safetensors& file) const {
    std::vector<std::string> words = {"attend",
                                      "--out",
                                      folder_ / "out.npy",
                                      "--trace",
                                      folder_ / "trace.safetensors",
                                      "--grads",
                                      folder_ / "grads.safetensors"};
    for (const auto& [input, option] : kInputOptions) {
      if (file.find("in." + input) == nullptr) continue;
      words.insert(words.end(), {"--" + option, path() + ":in." + input});
    }
    for (const char* option :
         {"heads", "kv_heads", "past", "window", "softcap", "scale", "scoring"}) {
      const auto found = file.metadata().find(option);
      if (found != file.metadata().end()) {
        words.insert(words.end(), {"--" + std::string(option), found->second});
      }
    }
    if (file.metadata().contains("causal")) words.push_back("--causal");
    if (std::string(GetParam()) != "raw-grouped") {
      words.insert(words.end(), {"--weights", path() + ":in"});
    }
    return words;
  }

  // The name in --grads of the gradient that the file calls grad.<name>.
  static std::string gradient_name(const std::string& name) {
    const auto option = kInputOptions.find(name);
    if (option == kInputOptions.end()) return "in." + name;
    return name == "head_gates" ? name : option->second;
  }

  TemporaryFolder folder_;
};

TEST_P(GoldenAttend, matches_outputs_weights_and_gradients) {
  if (!std::filesystem::exists(path())) GTEST_SKIP() << path() << " is not there";
  const io::Safetensors file = io::open_safetensors(base::real_files(), path());
  const ProgramRun run = run_program(arguments(file));
  ASSERT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.output + run.errors, "");

  const Tensors expected = read_tensors(path());
  const Tensors trace = read_tensors(folder_ / "trace.safetensors");
  const tensor::Tensor& output = expected.at("out.output");
  EXPECT_LE(distance(read_floats(folder_ / "out.npy"), output), kOutputTolerance * largest(output));
  EXPECT_LE(distance(trace.at("output"), output), kOutputTolerance * largest(output));
  const tensor::Tensor& weights = expected.at("out.weights");
  EXPECT_LE(distance(trace.at("weights").reshaped(weights.shape()), weights), kOutputTolerance);

  Tensors gradients = read_tensors(folder_ / "grads.safetensors");
  double most = 0;
  for (const auto& [name, array] : expected) {
    if (name.starts_with("grad.")) most = std::max(most, largest(array));
  }
  for (const auto& [name, array] : expected) {
    if (!name.starts_with("grad.")) continue;
    const auto found = gradients.extract(gradient_name(name.substr(5)));
    ASSERT_FALSE(found.empty()) << name;
    EXPECT_LE(distance(found.mapped(), array), kGradientTolerance * most) << name;
  }
  EXPECT_TRUE(gradients.empty()) << gradients.begin()->first;
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenAttend,
                         testing::Values("module-fused-causal", "module-d2l-valid-lens-1d",
                                         "module-d2l-valid-lens-2d", "module-d2l-free-widths",
                                         "module-named-causal", "module-torch-cross", "raw-grouped",
                                         "additive-scoring"));

}  // namespace
}  // namespace headlight::test
