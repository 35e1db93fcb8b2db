// What the files of the lesson `from-scratch` share.
#pragma once

#include "headlight/narrate/lessons/lesson.h"

namespace headlight::narrate {

// Why regularization: the same small model on the same few sequences, without it and with it.
ShownStep scratch_regularization(LessonOptions& options);

}  // namespace headlight::narrate
