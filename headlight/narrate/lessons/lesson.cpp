// The list of lessons, what they are told with, and what they share.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "headlight/narrate/lessons/lesson_parts.h"
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
