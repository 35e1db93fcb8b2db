// The list of lessons, what they are told with, and what they share.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "headlight/narrate/languages.h"
#include "headlight/narrate/lessons/lesson_parts.h"
#include "headlight/narrate/walk.h"
#include "headlight/nn/nn.h"

namespace headlight::narrate {
namespace {

constexpr int64_t kMostElements = 100'000;

ShownStep step_with_key(const LessonOptions& options, const std::string& key, int number,
                        const std::vector<Placeholder>& values) {
  return {.number = number,
          .title = options.catalogue.text(key + ".title"),
          .paragraphs = {options.catalogue.text(key + ".text", values)}};
}

}  // namespace

const std::vector<Lesson>& lessons() {
  static const std::vector<Lesson> kLessons = {{"nanogpt", "az", nanogpt_lesson},
                                               {"steps", "tr", steps_lesson},
                                               {"d2l", "tr", d2l_lesson},
                                               {"transformer", "tr", transformer_lesson},
                                               {"from-scratch", "ko", from_scratch_lesson}};
  return kLessons;
}

int step_count(const Lesson& lesson) {
  const Catalogue& catalogue = Catalogue::of(languages().front());
  int count = 0;
  const auto has = [&](int number) {
    return catalogue.has("lesson." + lesson.name + "." + std::to_string(number) + ".title");
  };
  while (has(count + 1)) ++count;
  return count > 0 ? count : kStepCount;  // a lesson without numbers follows the walk
}

std::string command_of(const Lesson& lesson, std::string_view language,
                       const std::string& program) {
  const std::string command = program + " lesson " + lesson.name;
  return language == lesson.language ? command : command + " --lang " + std::string(language);
}

std::string lesson_list_text(const TextStyle& style, const Catalogue& catalogue,
                             const std::string& program) {
  std::string text = wrapped(catalogue.text("lesson.list"), style.width) + "\n";
  for (const Lesson& lesson : lessons()) {
    text += bold(style, lesson.name) + "  " + Catalogue::of(lesson.language).text("language.name") +
            "  " +
            catalogue.text("lesson.list.steps", {{"count", std::to_string(step_count(lesson))}}) +
            "\n";
    text += wrapped(catalogue.text("lesson." + lesson.name + ".title"), style.width, "  ");
    text += wrapped_command(command_of(lesson, catalogue.language(), program), style.width, "  ");
    text += "\n";
  }
  return text;
}

io::Json lesson_list_json(const Catalogue& catalogue, const std::string& program) {
  io::Json::Array list;
  for (const Lesson& lesson : lessons()) {
    list.emplace_back(
        io::Json::Object{{"name", lesson.name},
                         {"language", lesson.language},
                         {"title", catalogue.text("lesson." + lesson.name + ".title")},
                         {"steps", step_count(lesson)},
                         {"command", command_of(lesson, catalogue.language(), program)}});
  }
  return io::Json::Object{{"lessons", std::move(list)}};
}

std::string lesson_cell_text(const TextStyle& style, const Catalogue& catalogue,
                             const LessonRuns& runs, const std::string& cell) {
  const auto [run, reference] = runs.parse_cell(cell);
  const Walk walk{.catalogue = catalogue, .trace = run->trace};
  ShownStep step = cell_step(walk, explain::explain_cell(walk.trace, reference));
  step.afterwards.clear();
  return step_text(style, catalogue, run->full_name(step.title), step);
}

io::Json lesson_cell_json(const LessonRuns& runs, const std::string& cell) {
  const auto [run, reference] = runs.parse_cell(cell);
  return explain::cell_json(run->trace, explain::explain_cell(run->trace, reference));
}

std::string lesson_text(const TextStyle& style, const Catalogue& catalogue, const Lesson& lesson,
                        const std::vector<ShownStep>& steps, bool with_introduction) {
  const std::string key = "lesson." + lesson.name;
  std::string text;
  if (with_introduction) {
    text = bold(style, catalogue.text("lesson.of", {{"title", catalogue.text(key + ".title")}})) +
           "\n\n" + wrapped(catalogue.text(key + ".intro"), style.width) + "\n";
  }
  int before = 0;
  for (const ShownStep& step : steps) {
    const char* name = step.number == before ? "lesson.step_continued" : "lesson.step";
    const std::string heading =
        catalogue.text(name, {{"step", std::to_string(step.number)}}) + ": " + step.title;
    text += step_text(style, catalogue, heading, step);
    before = step.number;
  }
  return text;
}

io::Json lesson_json(const Catalogue& catalogue, const Lesson& lesson,
                     const std::vector<ShownStep>& steps) {
  const std::string key = "lesson." + lesson.name;
  return io::Json::Object{{"lesson", lesson.name},
                          {"language", catalogue.language()},
                          {"title", catalogue.text(key + ".title")},
                          {"intro", catalogue.text(key + ".intro")},
                          {"steps", steps_json(steps, kMostElements)}};
}

autograd::Recording record_all(bool with_weighted_values) {
  return autograd::Recording(
      {.wants =
           [with_weighted_values](std::string_view place) {
             const bool is_large = place.ends_with("weighted_values") && !with_weighted_values;
             return !is_large && place.find("head.") == std::string_view::npos;
           },
       .reports = false});
}

ShownStep lesson_step(const LessonOptions& options, const std::string& lesson, int number,
                      const std::vector<Placeholder>& values) {
  return step_with_key(options, "lesson." + lesson + "." + std::to_string(number), number, values);
}

ShownStep lesson_step(const LessonOptions& options, const std::string& lesson, Step step) {
  const std::string key = "lesson." + lesson + "." + std::string(name_of(step));
  return step_with_key(options, key, number_of(step), {});
}

ShownArray lesson_array(const LessonOptions& options, const std::string& name,
                        const std::string& key, const tensor::Tensor& numbers) {
  return {.name = name, .title = options.catalogue.text("tensor." + key), .numbers = numbers};
}

ShownArray of_run(const LessonOptions& options, ShownArray array, const std::string& run,
                  const std::string& tensor, std::vector<int64_t> begin) {
  const LessonRun& known = options.runs->at(run);
  const tensor::Shape& shape = known.trace.at(tensor).shape;
  begin.resize(static_cast<size_t>(shape.rank()));
  array.tensor = known.full_name(tensor);
  array.tensor_begin = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    array.tensor_begin = array.tensor_begin * shape[axis] + begin[static_cast<size_t>(axis)];
  }
  return array;
}

ShownArray run_array(const LessonOptions& options, const std::string& run,
                     const std::string& tensor, const std::string& name, const std::string& key) {
  const explain::Trace& trace = options.runs->at(run).trace;
  ShownArray array = lesson_array(options, name, key, trace.values(tensor));
  array.axes = trace.at(tensor).axes;
  for (const explain::Axis axis : array.axes) array.labels.push_back(trace.labels(axis));
  return of_run(options, std::move(array), run, tensor);
}

HeadDrawing run_head(const LessonOptions& options, const std::string& run,
                     const std::string& tensor, int64_t head, const std::string& title,
                     const MatrixLabels& labels) {
  const LessonRun& known = options.runs->at(run);
  const tensor::Shape& shape = known.trace.at(tensor).shape;
  const tensor::Tensor weights =
      known.trace.values(tensor).slice(0, 0, 1).slice(1, head, 1).contiguous();
  return {.title = title,
          .weights = weights.reshaped({shape[2], shape[3]}),
          .labels = labels,
          .tensor = known.full_name(tensor),
          .tensor_begin = head * shape[2] * shape[3]};
}

explain::Trace trace_attention(const LessonOptions& options,
                               const nn::MultiHeadAttention& attention,
                               const autograd::Value& queries, const autograd::Value& pairs,
                               const autograd::AttentionOptions& call,
                               const std::vector<std::string>& tokens) {
  const bool is_self = queries.data().memory() == pairs.data().memory();
  const auto run = [&](autograd::Context& context) {
    autograd::name_value(context, "", is_self ? "x" : "queries", queries);
    if (!is_self) autograd::name_value(context, "", "pairs", pairs);
    attention.forward(context, queries, pairs, pairs, call);
  };
  return explain::trace_run(options.threads, attention.parameters(), run, {.tokens = tokens});
}

tensor::Tensor drawn_numbers(const tensor::Shape& shape, uint64_t seed, const std::string& name,
                             float deviation) {
  const nn::Parameters one = {std::make_shared<nn::Parameter>(name, shape)};
  nn::draw_normal(one, seed, deviation);
  return one.front()->value().data();
}

tensor::Tensor ones_of(const tensor::Shape& shape) {
  return tensor::Tensor::of(shape, std::vector<float>(static_cast<size_t>(shape.elements()), 1.0F));
}

autograd::Value leaf(const tensor::Shape& shape, const std::vector<float>& numbers) {
  return autograd::Value::leaf(tensor::Tensor::of(shape, numbers));
}

double cosine_of(const tensor::Tensor& a, const tensor::Tensor& b) {
  const float* first = a.data<float>();
  const float* second = b.data<float>();
  double product = 0, length_a = 0, length_b = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    product += static_cast<double>(first[i]) * second[i];
    length_a += static_cast<double>(first[i]) * first[i];
    length_b += static_cast<double>(second[i]) * second[i];
  }
  return product / std::sqrt(length_a * length_b);
}

std::string share_text(const Catalogue& catalogue, double share) {
  return catalogue.number(share < 5e-5 ? 0 : share, 4);
}

double fastest_milliseconds(int64_t time, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  const auto end = Clock::now() + std::chrono::milliseconds(time);
  do {
    const auto start = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  } while (Clock::now() < end);
  return best;
}

double largest_difference(const tensor::Tensor& a, const tensor::Tensor& b) {
  double largest = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double difference = static_cast<double>(a.data<float>()[i]) - b.data<float>()[i];
    largest = std::max(largest, std::fabs(difference));
  }
  return largest;
}

}  // namespace headlight::narrate
