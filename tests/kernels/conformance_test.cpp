// The ONNX operators' own test cases, as far as our row operations express them. An axis other than
// the last is brought to the end here; cases left out are listed with the reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/kernels/kernels.h"
#include "tests/kernels/rows.h"
#include "tests/places.h"

namespace headlight::kernels {
namespace {

using namespace tests;
using tensor::Tensor;

// One case: its attributes and its tensors "in.NAME" and "out.NAME".
class OnnxCase {
 public:
  explicit OnnxCase(const std::string& path)
      : file_(io::open_safetensors(base::real_files(), path)),
        attributes_(io::parse_json(file_.metadata().at("attributes"), path)) {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  Tensor load(const std::string& name) const { return file_.load(name); }
  double number(const std::string& name, double otherwise) const {
    const io::Json* value = attributes_.find(name);
    return value == nullptr ? otherwise : value->number().value();
  }
  std::string text(const std::string& name) const {
    const io::Json* value = attributes_.find(name);
    return value == nullptr ? "" : *value->text();
  }

 private:
  io::Safetensors file_;
  io::Json attributes_;
};

// A tensor as rows along one axis: row (o, i) holds the numbers at outer place o and inner place i.
struct AxisRows {
  AxisRows(const Tensor& from, int64_t axis) {
    const int64_t rank = from.rank();
    axis = axis < 0 ? axis + rank : axis;
    int64_t outer = 1, inner = 1;
    for (int a = 0; a < axis; ++a) outer *= from.size(a);
    for (int a = static_cast<int>(axis) + 1; a < rank; ++a) inner *= from.size(a);
    cols = from.size(static_cast<int>(axis));
    rows = outer * inner;
    const float* data = from.data<float>();
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t c = 0; c < cols; ++c) {
        numbers.push_back(data[(row / inner * cols + c) * inner + row % inner]);
      }
    }
  }
  tensor::MatrixView view() { return {numbers.data(), rows, cols, cols, 1}; }
  std::vector<double> exact() const { return {numbers.begin(), numbers.end()}; }

  int64_t rows, cols;
  std::vector<float> numbers;
};

std::vector<double> exact(const Tensor& tensor) {
  const float* data = tensor.data<float>();
  return {data, data + tensor.elements()};
}

// Runs each test on every instruction set, over all cases of one operator.
class OnnxConformance : public OnEachTarget {
 protected:
  // Calls run(case) for every file; it returns the reason where a case is left out.
  template <class Run>
  void for_cases(const std::string& op, size_t expected, const Run& run) {
    const std::string folder = tests::shared_folder() + "/conformance/" + op;
    std::vector<std::string> names;
    if (base::real_files().list(folder, names) < 0) GTEST_SKIP() << folder << " is absent";
    std::sort(names.begin(), names.end());
    size_t passed = 0;
    for (const std::string& name : names) {
      SCOPED_TRACE(name);
      const std::string left_out = run(OnnxCase(folder + "/" + name));
      passed += left_out.empty();
      const bool tell = !left_out.empty() && GetParam() == simd_targets().front();
      if (tell) std::cout << "left out: " << name << " (" << left_out << ")\n";
    }
    EXPECT_EQ(passed, expected);
  }
};

TEST_P(OnnxConformance, layer_normalization) {
  for_cases("LayerNormalization", 19, [&](const OnnxCase& given) -> std::string {
    const Tensor x = given.load("in.X");
    const int axis = static_cast<int>(given.number("axis", -1));
    int64_t cols = 1;
    for (int a = axis < 0 ? axis + x.rank() : axis; a < x.rank(); ++a) cols *= x.size(a);
    const int64_t rows = x.elements() / cols;
    std::vector<float> y(static_cast<size_t>(rows * cols)), mean(static_cast<size_t>(rows)),
        inverse(static_cast<size_t>(rows));
    layer_norm_forward(execution(), {x.data<float>(), rows, cols, cols, 1},
                       given.load("in.W").data<float>(), given.load("in.B").data<float>(),
                       static_cast<float>(given.number("epsilon", 1e-5)),
                       {{y.data(), rows, cols, cols, 1}, mean.data(), inverse.data()});
    expect_close(y.data(), exact(given.load("out.Y")), 2e-6);
    expect_close(mean.data(), exact(given.load("out.Mean")), 2e-6);
    expect_close(inverse.data(), exact(given.load("out.InvStdDev")), 2e-6);
    return "";
  });
}

TEST_P(OnnxConformance, softmax_and_its_logarithm) {
  for (const bool log : {false, true}) {
    for_cases(log ? "LogSoftmax" : "Softmax", 7, [&](const OnnxCase& given) -> std::string {
      const int64_t axis = static_cast<int64_t>(given.number("axis", -1));
      AxisRows x(given.load("in.x"), axis);
      (log ? log_softmax_forward : softmax_forward)(execution(), x.view(), x.view());
      expect_close(x.exact(), AxisRows(given.load("out.y"), axis).exact(), 1e-6);
      return "";
    });
  }
}

TEST_P(OnnxConformance, gelu) {
  for_cases("Gelu", 4, [&](const OnnxCase& given) -> std::string {
    const Tensor x = given.load("in.x");
    const bool tanh = given.text("approximate") == "tanh";
    std::vector<float> y(static_cast<size_t>(x.elements()));
    activation_forward(execution(), tanh ? Activation::gelu_tanh : Activation::gelu,
                       x.data<float>(), y.data(), x.elements());
    expect_close(y.data(), exact(given.load("out.y")), 1e-6);
    return "";
  });
}

TEST_P(OnnxConformance, softmax_cross_entropy_loss) {
  for_cases("SoftmaxCrossEntropyLoss", 18, [&](const OnnxCase& given) -> std::string {
    if (given.has("in.w")) return "class weights are not supported";
    AxisRows logits(given.load("in.x"), 1);
    const Tensor classes = given.load("in.y");
    const int64_t* targets = classes.data<int64_t>();
    // Without ignore_index nothing is ignored; no class has this number.
    const auto ignored = static_cast<int64_t>(given.number("ignore_index", -1000));
    std::vector<float> losses(static_cast<size_t>(logits.rows));
    cross_entropy(execution(), logits.view(), targets, {.ignored = ignored}, losses.data(), 1, {});
    std::vector<double> result(losses.begin(), losses.end());
    if (given.text("reduction") != "none") {
      double sum = 0;
      for (const float loss : losses) sum += loss;
      const auto counted = logits.rows - std::count(targets, targets + logits.rows, ignored);
      result = {given.text("reduction") == "mean" ? sum / static_cast<double>(counted) : sum};
    }
    expect_close(result, exact(given.load("out.z")), 1e-6);
    if (given.has("out.log_prob")) {
      log_softmax_forward(execution(), logits.view(), logits.view());
      expect_close(logits.exact(), AxisRows(given.load("out.log_prob"), 1).exact(), 1e-6);
    }
    return "";
  });
}

TEST_P(OnnxConformance, adam) {
  for_cases("Adam", 2, [&](const OnnxCase& given) -> std::string {
    // The cases are at step 0, which ONNX leaves uncorrected; so is ours after very many steps.
    EXPECT_EQ(given.load("in.T").data<int64_t>()[0], 0);
    constexpr double kManySteps = 1e9;
    for (const std::string which : {"", "1", "2"}) {
      if (!given.has("in.X" + which)) continue;
      const Tensor g = given.load("in.G" + which);
      Tensor x = given.load("in.X" + which);
      Tensor v = given.load("in.V" + which), h = given.load("in.H" + which);
      const ParameterUpdate update{.numbers = x.mutable_data<float>(),
                                   .gradient = g.data<float>(),
                                   .first_moment = v.mutable_data<float>(),
                                   .second_moment = h.mutable_data<float>(),
                                   .count = x.elements(),
                                   .weight_decay = given.number("norm_coefficient", 0),
                                   .step = kManySteps};
      update_parameters(execution(),
                        {.rule = UpdateRule::adam,
                         .learning_rate = given.load("in.R").data<float>()[0],
                         .beta1 = given.number("alpha", 0.9),
                         .beta2 = given.number("beta", 0.999),
                         .epsilon = given.number("epsilon", 0)},
                        {&update, 1});
      expect_close(update.numbers, exact(given.load("out.X" + which + "_new")), 1e-6);
      expect_close(update.first_moment, exact(given.load("out.V" + which + "_new")), 1e-6);
      expect_close(update.second_moment, exact(given.load("out.H" + which + "_new")), 1e-6);
    }
    return "";
  });
}

HEADLIGHT_ON_EACH_TARGET(OnnxConformance);

}  // namespace
}  // namespace headlight::kernels
