// The lesson `nanogpt`: eight steps of one causal module, a measurement, and a sentence. Why there
// is more than one head, and the task, are in files of their own.
#include "headlight/narrate/lessons/nanogpt.h"

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

std::vector<std::string> sentence_words() {
  std::vector<std::string> words;
  for (const std::string_view word : text::words(kNanoSentence)) words.emplace_back(word);
  return words;
}

// Milliseconds of one fused layer, and of three that do the same.
struct Timing {
  double one = 0, three = 0;
};

constexpr int64_t kRows = 64;

Timing measure(const LessonOptions& options) {
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
  const double one = fastest_milliseconds(200, [&] { fused.forward(context, x); });
  const double three = fastest_milliseconds(200, [&] {
    for (const nn::Linear& layer : separate) layer.forward(context, x);
  });
  return {one, three};
}

ShownStep measured(const LessonOptions& options) {
  const auto& [one, three] = options.runs->once("timing", [&] { return measure(options); });
  const Catalogue& catalogue = options.catalogue;
  ShownStep step = lesson_step(options, "nanogpt", 9, {{"rows", std::to_string(kRows)}});
  step.tables = {{{{"", catalogue.text("label.time")},
                   {catalogue.text("label.fused"), catalogue.number(one, 3) + " ms"},
                   {catalogue.text("label.separate"), catalogue.number(three, 3) + " ms"},
                   {catalogue.text("label.ratio"), catalogue.number(three / one, 2)}}}};
  step.afterwards = {catalogue.text("lesson.nanogpt.9.gpu"),
                     catalogue.text("lesson.nanogpt.9.cpu")};
  step.numbers = {{"fused_milliseconds", one}, {"separate_milliseconds", three}};
  return step;
}

// The triangle that nanoGPT keeps for the longest text, cut to the length of this one; and the same
// module with the cut mask instead of the engine's own way.
void add_mask_buffer(LessonOptions& options, const nn::MultiHeadAttention& attention,
                     const Value& x, const Tensor& weights, ShownStep& step) {
  constexpr int64_t kBlockSize = 8;        // of the drawing
  constexpr int64_t kGptBlockSize = 1024;  // GPT-2's
  const int64_t length = x.shape()[1];
  std::vector<int64_t> triangle;
  for (int64_t i = 0; i < kBlockSize * kBlockSize; ++i) {
    triangle.push_back(i % kBlockSize <= i / kBlockSize ? 1 : 0);
  }
  const Tensor buffer = Tensor::of({1, 1, kBlockSize, kBlockSize}, triangle);
  const Tensor cut = buffer.slice(2, 0, length).slice(3, 0, length).contiguous();
  Tensor keep = Tensor::zeros(tensor::DType::boolean, cut.shape());
  for (int64_t i = 0; i < cut.elements(); ++i) {
    keep.mutable_data<bool>()[i] = cut.data<int64_t>()[i] != 0;
  }
  const explain::Trace& run = options.runs->traced("kept", [&] {
    return trace_attention(options, attention, x, x, {.keep_mask = keep}, sentence_words());
  });
  const double difference = largest_difference(weights, run.values("self.weights"));
  step.paragraphs.push_back(options.catalogue.text(
      "lesson.nanogpt.4.buffer", {{"gpt_size", std::to_string(kGptBlockSize)},
                                  {"count", std::to_string(kGptBlockSize * kGptBlockSize)},
                                  {"block_size", std::to_string(kBlockSize)},
                                  {"length", std::to_string(length)},
                                  {"difference", options.catalogue.number(difference, 4)}}));
  ShownArray whole = lesson_array(options, "mask_buffer", "mask", buffer);
  whole.title += ": block_size = " + std::to_string(kBlockSize);
  ShownArray part = lesson_array(options, "mask", "mask", cut);
  part.title += ": T = " + std::to_string(length);
  step.arrays.insert(step.arrays.begin(), {whole, part});
  step.numbers = {{"mask_buffer_difference", difference}};
}

// The first two heads on the sentence.
ShownStep sentence_heads(const LessonOptions& options) {
  const std::vector<std::string> words = sentence_words();
  ShownStep step = lesson_step(options, "nanogpt", 10, {{"sentence", std::string(kNanoSentence)}});
  for (int64_t head = 0; head < 2; ++head) {
    step.heads.push_back(run_head(
        options, "module", "self.weights", head,
        options.catalogue.text("place.head", {{"head", std::to_string(head)}}), {words, words}));
  }
  return step;
}

}  // namespace

std::vector<ShownStep> nanogpt_lesson(LessonOptions& options) {
  const nn::MultiHeadAttention attention(
      {.query_width = kNanoWidth, .heads = kNanoHeads, .place = "self"});
  nn::draw_normal(attention.parameters(), options.seed, kDeviation);
  const auto length = static_cast<int64_t>(sentence_words().size());
  const Value x = Value::leaf(drawn_numbers({1, length, kNanoWidth}, options.seed, "sentence"));
  const explain::Trace& run = options.runs->traced("module", [&] {
    return trace_attention(options, attention, x, x, {.causal = true}, sentence_words());
  });

  std::vector<ShownStep> steps;
  const auto step = [&](int number) -> ShownStep& {
    return steps.emplace_back(lesson_step(options, "nanogpt", number));
  };
  const auto array = [&](const std::string& name) {
    return run_array(options, "module", "self." + name, name, name);
  };
  step(1).arrays = {array("projected"), array("projected_query"), array("projected_key"),
                    array("projected_value")};
  ShownStep& split = step(2);
  split.arrays = {array("query")};
  split.slips = {"split"};
  step(3).arrays = {array("scores"), array("scaled_scores")};
  ShownStep& mask = step(4);
  mask.arrays = {array("masked_scores")};
  add_mask_buffer(options, attention, x, run.values("self.weights"), mask);
  mask.slips = {"masking"};
  step(5).arrays = {array("weights")};
  step(6).arrays = {array("head_output")};
  step(7).arrays = {array("concatenated")};
  step(8).arrays = {run_array(options, "module", "self.output", "output", "self.output")};
  steps.push_back(measured(options));
  steps.push_back(sentence_heads(options));
  steps.push_back(nanogpt_relations(options));
  steps.push_back(nanogpt_task(options));
  return steps;
}

}  // namespace headlight::narrate
