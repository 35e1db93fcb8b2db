// A lesson as one HTML page that needs nothing else, like the walk's: all languages, every number
// that was computed can be asked why, and exercises can be filled in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headlight/narrate/lessons/exercises.h"
#include "headlight/narrate/lessons/lesson.h"
#include "headlight/narrate/page_document.h"

namespace headlight::narrate {

struct LessonPageOptions {
  std::string language = "en";  // to begin with; the page has all of them
  uint64_t seed = 1;
  int step = 0;                       // to open at; 0: the beginning
  bool exercise = false;              // opens with cells blank
  std::string program = "headlight";  // how it was started, for commands to type
};

// A lesson that was run once and told in every language: its page's data, and what can be asked.
struct LessonDocument {
  std::shared_ptr<LessonRuns> runs;
  std::vector<Exercise> exercises = {};  // of these runs
  PageContent content = {};
  // One JSON document: {"language", "version", ..., "lesson": {"name", "words", "steps", "runs",
  // "exercises"}, "operations", "runs"}; without "texts".
  std::string data = {};
};
// Throws Error(usage) for a step that there is not.
LessonDocument make_lesson_document(base::ThreadPool& threads, const Lesson& lesson,
                                    const LessonPageOptions& options);

// Runs the lesson once and tells it in every language. Of arrays too large for a page the first
// rows and columns are shown, with all numbers that these are made of. Throws what the output
// throws, and Error(usage) for a step that there is not.
void write_lesson_page(base::Output& output, base::ThreadPool& threads, const Lesson& lesson,
                       const LessonPageOptions& options);

}  // namespace headlight::narrate
