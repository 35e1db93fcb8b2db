// What the two files of the lesson `d2l` share.
#pragma once

#include <vector>

#include "headlight/narrate/lessons/lesson.h"
#include "headlight/nn/nn.h"

namespace headlight::narrate {

inline constexpr int64_t kD2lWidth = 100;
inline constexpr int64_t kD2lHeads = 5;

// The tutorial's module: width 100, five heads, dropout 0.5, no biases.
nn::MultiHeadAttention d2l_module(uint64_t seed);

// Exercise 1, the heads drawn: with the tutorial's inputs, the run "module", and with others.
ShownStep d2l_drawn_heads(LessonOptions& options);
// Exercise 2, which head matters: in a random module, and in a trained model.
ShownStep d2l_head_importance(LessonOptions& options);

}  // namespace headlight::narrate
