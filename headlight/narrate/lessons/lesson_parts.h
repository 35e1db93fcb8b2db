// What lessons are made of.
#pragma once

#include <functional>
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

// How alike the directions of two vectors of the same number of elements are: 1 for the same, 0 for
// nothing in common.
double cosine_of(const tensor::Tensor& a, const tensor::Tensor& b);
// The largest |a - b| of two tensors of the same number of elements.
double largest_difference(const tensor::Tensor& a, const tensor::Tensor& b);

// A number within 0 and 1 with four digits, however small.
std::string share_text(const Catalogue& catalogue, double share);

// Of the fastest of the runs that fit into this time, at least one.
double fastest_milliseconds(int64_t time, const std::function<void()>& work);

}  // namespace headlight::narrate
