// What the files of the lesson `nanogpt` share.
#pragma once

#include <string_view>

#include "headlight/narrate/lessons/lesson.h"

namespace headlight::narrate {

inline constexpr std::string_view kNanoSentence = "Azərbaycanın gözəl paytaxtı Bakıdır.";

// Why more than one head: two questions about the sentence, learned by two heads and by one alone.
ShownStep nanogpt_relations(LessonOptions& options);

// The task: the eight steps written by the reader, with small numbers to check them by.
ShownStep nanogpt_task(LessonOptions& options);

}  // namespace headlight::narrate
