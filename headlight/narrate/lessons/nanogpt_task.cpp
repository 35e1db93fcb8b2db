// The task of the lesson `nanogpt`: the eight steps written out, beside the engine's module.
#include <algorithm>
#include <cmath>

#include "headlight/narrate/lessons/lesson_parts.h"
#include "headlight/narrate/lessons/nanogpt.h"
#include "headlight/nn/nn.h"

namespace headlight::narrate {
namespace {

using autograd::Value;
using tensor::Tensor;

constexpr int64_t kTaskTokens = 3;
constexpr int64_t kTaskWidth = 4;
constexpr int64_t kTaskHeads = 2;
constexpr int64_t kTaskHeadWidth = kTaskWidth / kTaskHeads;

// The steps as a reader may write them with NumPy, in the order of the lesson.
constexpr std::pair<const char*, const char*> kTaskProgram[] = {
    {"", "T, C = x.shape; D = C // H"},
    {"1", "q, k, v = np.split(x @ c_attn.T, 3, axis=1)"},
    {"2", "q, k, v = (m.reshape(T, H, D).swapaxes(0, 1) for m in (q, k, v))"},
    {"3", "a = q @ k.swapaxes(1, 2) / np.sqrt(D)"},
    {"4", "a = np.where(np.tri(T, dtype=bool), a, -np.inf)"},
    {"5", "a = np.exp(a - a.max(2, keepdims=True)); a /= a.sum(2, keepdims=True)"},
    {"6", "y = a @ v"},
    {"7", "y = y.swapaxes(0, 1).reshape(T, C)"},
    {"8", "y = y @ c_proj.T"}};

// Numbers by seed in steps of a half, which are easy to type.
Tensor halves(const tensor::Shape& shape, uint64_t seed, const std::string& name) {
  Tensor numbers = drawn_numbers(shape, seed, name);
  std::vector<float> rounded;
  for (int64_t i = 0; i < numbers.elements(); ++i) {
    rounded.push_back(std::round(2 * numbers.data<float>()[i]) / 2);
  }
  return Tensor::of(shape, rounded);
}

using Matrix = std::vector<std::vector<double>>;

// x (T, inputs) times the transpose of a weight (outputs, inputs).
Matrix times_transposed(const Matrix& x, const Tensor& weight) {
  Matrix product(x.size(), std::vector<double>(static_cast<size_t>(weight.size(0))));
  for (size_t t = 0; t < x.size(); ++t) {
    for (int64_t out = 0; out < weight.size(0); ++out) {
      for (int64_t in = 0; in < weight.size(1); ++in) {
        product[t][static_cast<size_t>(out)] +=
            x[t][static_cast<size_t>(in)] * weight.data<float>()[out * weight.size(1) + in];
      }
    }
  }
  return product;
}

// Row t of one head's output: scores with keys up to t, softmax, and the values mixed. Columns of
// `qkv` are all queries, then all keys, then all values.
std::vector<double> attended_row(const Matrix& qkv, size_t t, size_t head) {
  const size_t begin = head * kTaskHeadWidth;
  std::vector<double> weights;
  double sum = 0;
  for (size_t j = 0; j <= t; ++j) {
    double score = 0;
    for (size_t d = begin; d < begin + kTaskHeadWidth; ++d) {
      score += qkv[t][d] * qkv[j][kTaskWidth + d];
    }
    weights.push_back(std::exp(score / std::sqrt(static_cast<double>(kTaskHeadWidth))));
    sum += weights.back();
  }
  std::vector<double> row(kTaskHeadWidth);
  for (size_t j = 0; j <= t; ++j) {
    for (size_t d = 0; d < kTaskHeadWidth; ++d) {
      row[d] += weights[j] / sum * qkv[j][2 * kTaskWidth + begin + d];
    }
  }
  return row;
}

// The eight steps in plain loops, without anything of the engine.
Tensor attention_by_hand(const Tensor& x, const Tensor& c_attn, const Tensor& c_proj) {
  Matrix rows(kTaskTokens);
  for (size_t t = 0; t < kTaskTokens; ++t) {
    const float* row = x.data<float>() + t * kTaskWidth;
    rows[t].assign(row, row + kTaskWidth);
  }
  const Matrix qkv = times_transposed(rows, c_attn);
  Matrix merged(kTaskTokens);
  for (size_t t = 0; t < kTaskTokens; ++t) {
    for (size_t head = 0; head < kTaskHeads; ++head) {
      const std::vector<double> part = attended_row(qkv, t, head);
      merged[t].insert(merged[t].end(), part.begin(), part.end());
    }
  }
  std::vector<float> output;
  for (const std::vector<double>& row : times_transposed(merged, c_proj)) {
    output.insert(output.end(), row.begin(), row.end());
  }
  return Tensor::of({kTaskTokens, kTaskWidth}, output);
}

}  // namespace

ShownStep nanogpt_task(LessonOptions& options) {
  const Tensor x = halves({kTaskTokens, kTaskWidth}, options.seed, "task.x");
  const nn::StateDict state = {
      {"c_attn.weight", halves({3 * kTaskWidth, kTaskWidth}, options.seed, "task.c_attn")},
      {"c_proj.weight", halves({kTaskWidth, kTaskWidth}, options.seed, "task.c_proj")}};
  const nn::MultiHeadAttention module = nn::load_attention(
      state, {.layout = nn::AttentionLayout::fused, .heads = kTaskHeads, .place = "self"});
  const Value input = Value::leaf(x.reshaped({1, kTaskTokens, kTaskWidth}));
  const explain::Trace& run = options.runs->traced(
      "task", [&] { return trace_attention(options, module, input, input, {.causal = true}); });
  const Tensor output = run.values("self.output").reshaped({kTaskTokens, kTaskWidth});
  const double difference = largest_difference(
      output, attention_by_hand(x, state.at("c_attn.weight"), state.at("c_proj.weight")));

  const Catalogue& catalogue = options.catalogue;
  ShownStep step = lesson_step(options, "nanogpt", 12);
  ShownTable program{{{catalogue.text("label.step"), "attention.py"}}};
  for (const auto& [number, line] : kTaskProgram) program.lines.push_back({number, line});
  step.tables = {program};
  const auto array = [&](const char* name, const Tensor& numbers) {
    return of_run(options, {.name = name, .title = name, .numbers = numbers, .digits = 1}, "task",
                  name);
  };
  step.arrays = {array("x", x), array("c_attn.weight", state.at("c_attn.weight")),
                 array("c_proj.weight", state.at("c_proj.weight"))};
  step.arrays.push_back(
      of_run(options, {.name = "y", .title = "y", .numbers = output}, "task", "self.output"));
  step.afterwards = {
      catalogue.text("lesson.nanogpt.12.check", {{"difference", catalogue.number(difference, 4)}}),
      catalogue.text("lesson.nanogpt.12.attend"),
      options.program + " attend --query x.npy --weights w.safetensors --heads 2 --causal"};
  step.numbers = {{"by_hand_difference", difference}};
  return step;
}

}  // namespace headlight::narrate
