// What lessons are made of.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "headlight/narrate/lessons/lesson.h"
#include "headlight/narrate/steps.h"

namespace headlight::narrate {

std::vector<ShownStep> nanogpt_lesson(LessonOptions& options);
std::vector<ShownStep> steps_lesson(LessonOptions& options);
std::vector<ShownStep> d2l_lesson(LessonOptions& options);
std::vector<ShownStep> transformer_lesson(LessonOptions& options);
std::vector<ShownStep> from_scratch_lesson(LessonOptions& options);

// Keeps everything that a run shows of whole attentions; weighted values, which are many, when
// asked for.
autograd::Recording record_all(bool with_weighted_values = false);

// Step `number` of a lesson with the catalogue's title and text.
ShownStep lesson_step(const LessonOptions& options, const std::string& lesson, int number,
                      const std::vector<Placeholder>& values = {});
// The same of a lesson that follows the walk: "lesson.transformer.mask.title".
ShownStep lesson_step(const LessonOptions& options, const std::string& lesson, Step step);
// An array under the title that the catalogue gives to "tensor.<key>".
ShownArray lesson_array(const LessonOptions& options, const std::string& name,
                        const std::string& key, const tensor::Tensor& numbers);

// Numbers around 0 by seed and name.
tensor::Tensor drawn_numbers(const tensor::Shape& shape, uint64_t seed, const std::string& name,
                             float deviation = 1);
tensor::Tensor ones_of(const tensor::Shape& shape);
autograd::Value leaf(const tensor::Shape& shape, const std::vector<float>& numbers);

}  // namespace headlight::narrate
