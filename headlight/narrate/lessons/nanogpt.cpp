// The lesson `nanogpt`: eight steps of one causal module, a measurement, and a sentence.
#include <algorithm>
#include <chrono>

#include "headlight/narrate/lessons/lesson_parts.h"
#include "headlight/nn/nn.h"
#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

using autograd::Value;
using tensor::Tensor;

constexpr int64_t kNanoWidth = 768;
constexpr int64_t kNanoHeads = 12;
constexpr float kDeviation = 0.02F;  // nanoGPT's
constexpr std::string_view kSentence = "Azərbaycanın gözəl paytaxtı Bakıdır.";

std::vector<std::string> sentence_words() {
  std::vector<std::string> words;
  for (const std::string_view word : text::words(kSentence)) words.emplace_back(word);
  return words;
}

// Head 0 of (1, H, T, W), still four axes.
ShownArray of_heads(const LessonOptions& options, const autograd::Recording& seen,
                    const std::string& name) {
  ShownArray array = lesson_array(options, name, name, seen.seen(name));
  array.axes = {explain::Axis::batch, explain::Axis::head, explain::Axis::token,
                explain::Axis::column};
  const std::vector<std::string> words = sentence_words();
  const bool of_keys = array.numbers.size(-1) == static_cast<int64_t>(words.size());
  array.labels = {{}, {}, words, of_keys ? words : std::vector<std::string>()};
  return array;
}

// Milliseconds of the fastest of several runs.
template <class Work>
double fastest(const Work& work) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  const auto end = Clock::now() + std::chrono::milliseconds(200);
  do {
    const auto start = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  } while (Clock::now() < end);
  return best;
}

ShownStep measured(LessonOptions& options) {
  constexpr int64_t kRows = 64;
  tensor::Arena arena;
  autograd::Context context{.threads = options.threads, .arena = arena};
  const Value x = Value::leaf(drawn_numbers({1, kRows, kNanoWidth}, options.seed, "x"));
  const nn::Linear fused("fused", {.inputs = kNanoWidth, .outputs = 3 * kNanoWidth});
  std::vector<nn::Linear> separate;
  for (const char* name : {"query", "key", "value"}) {
    separate.emplace_back(name, nn::LinearOptions{.inputs = kNanoWidth, .outputs = kNanoWidth});
    nn::draw_normal(separate.back().parameters(), options.seed, kDeviation);
  }
  nn::draw_normal(fused.parameters(), options.seed, kDeviation);
  const double one = fastest([&] { fused.forward(context, x); });
  const double three = fastest([&] {
    for (const nn::Linear& layer : separate) layer.forward(context, x);
  });
  const Catalogue& catalogue = options.catalogue;
  ShownStep step = lesson_step(options, "nanogpt", 9, {{"rows", std::to_string(kRows)}});
  step.tables = {{{{"", catalogue.text("label.time")},
                   {catalogue.text("label.fused"), catalogue.number(one, 3) + " ms"},
                   {catalogue.text("label.separate"), catalogue.number(three, 3) + " ms"},
                   {catalogue.text("label.ratio"), catalogue.number(three / one, 2)}}}};
  step.numbers = {{"fused_milliseconds", one}, {"separate_milliseconds", three}};
  return step;
}

// The first two heads on the sentence.
ShownStep sentence_heads(const LessonOptions& options, const Tensor& weights) {
  const std::vector<std::string> words = sentence_words();
  const auto count = static_cast<int64_t>(words.size());
  ShownStep step = lesson_step(options, "nanogpt", 10, {{"sentence", std::string(kSentence)}});
  for (int64_t head = 0; head < 2; ++head) {
    step.heads.push_back({options.catalogue.text("place.head", {{"head", std::to_string(head)}}),
                          weights.slice(1, head, 1).contiguous().reshaped({count, count}),
                          {words, words}});
  }
  return step;
}

}  // namespace

std::vector<ShownStep> nanogpt_lesson(LessonOptions& options) {
  tensor::Arena arena;
  autograd::Recording seen = record_all();
  autograd::Context context{.threads = options.threads, .arena = arena, .observer = &seen};
  const nn::MultiHeadAttention attention({.query_width = kNanoWidth, .heads = kNanoHeads});
  nn::draw_normal(attention.parameters(), options.seed, kDeviation);
  const auto length = static_cast<int64_t>(sentence_words().size());
  const Value x = Value::leaf(drawn_numbers({1, length, kNanoWidth}, options.seed, "sentence"));
  const Value output = attention.forward(context, x, {.causal = true});

  std::vector<ShownStep> steps;
  const auto step = [&](int number) -> ShownStep& {
    return steps.emplace_back(lesson_step(options, "nanogpt", number));
  };
  const auto rows = [&](const char* name) {
    ShownArray array = lesson_array(options, name, name, seen.seen(name));
    array.labels = {{}, sentence_words(), {}};
    return array;
  };
  step(1).arrays = {rows("projected"), rows("projected_query"), rows("projected_key"),
                    rows("projected_value")};
  ShownStep& split = step(2);
  split.arrays = {of_heads(options, seen, "query")};
  split.slips = {"split"};
  step(3).arrays = {of_heads(options, seen, "scores"), of_heads(options, seen, "scaled_scores")};
  ShownStep& mask = step(4);
  mask.arrays = {of_heads(options, seen, "masked_scores")};
  mask.slips = {"masking", "llama"};
  step(5).arrays = {of_heads(options, seen, "weights")};
  step(6).arrays = {of_heads(options, seen, "head_output")};
  step(7).arrays = {rows("concatenated")};
  ShownArray last = lesson_array(options, "output", "self.output", output.data());
  last.labels = {{}, sentence_words(), {}};
  step(8).arrays = {last};
  steps.push_back(measured(options));
  steps.push_back(sentence_heads(options, seen.seen("weights")));
  return steps;
}

}  // namespace headlight::narrate
