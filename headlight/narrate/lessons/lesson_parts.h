// What lessons are made of.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headlight/narrate/lessons/lesson.h"
#include "headlight/narrate/steps.h"
#include "headlight/nn/nn.h"

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

// The array as a part of a traced run, whose cells can then be asked why: its numbers are those of
// the tensor from the cell `begin` on, in order. Indices that `begin` does not have are 0.
ShownArray of_run(const LessonOptions& options, ShownArray array, const std::string& run,
                  const std::string& tensor, std::vector<int64_t> begin = {});
// A whole tensor of a run under the title that the catalogue gives to "tensor.<key>".
ShownArray run_array(const LessonOptions& options, const std::string& run,
                     const std::string& tensor, const std::string& name, const std::string& key);

// One head of a tensor of weights, (B, H, T, S), of the first sequence; drawn, and asked why.
HeadDrawing run_head(const LessonOptions& options, const std::string& run,
                     const std::string& tensor, int64_t head, const std::string& title,
                     const MatrixLabels& labels);
// The run of a module whose place is "self": queries, and pairs of keys and values; the same Value
// is "x". The tokens are the labels of positions.
explain::Trace trace_attention(const LessonOptions& options,
                               const nn::MultiHeadAttention& attention,
                               const autograd::Value& queries, const autograd::Value& pairs,
                               const autograd::AttentionOptions& call,
                               const std::vector<std::string>& tokens = {});

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
