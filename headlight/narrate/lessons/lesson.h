// The five lessons: steps with the numbers of the engine's own runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headlight/narrate/lessons/lesson_runs.h"
#include "headlight/narrate/shown_step.h"

namespace headlight::narrate {

// What a lesson is made with.
struct LessonOptions {
  const Catalogue& catalogue;
  base::ThreadPool& threads;
  uint64_t seed = 1;
  std::string program = "headlight";  // how it was started, for commands to type
  // What was computed already: the same for every language that the lesson is told in.
  std::shared_ptr<LessonRuns> runs = std::make_shared<LessonRuns>();
};

struct Lesson {
  std::string name;
  std::string language;  // the tutorial's own
  std::vector<ShownStep> (*steps)(LessonOptions& options);
};
const std::vector<Lesson>& lessons();
// How many steps it has; nothing is computed.
int step_count(const Lesson& lesson);

// What is typed to read the lesson in this language.
std::string command_of(const Lesson& lesson, std::string_view language, const std::string& program);

// All lessons, each with its language, its title, its number of steps and the command to type:
// `program` and what follows it. As JSON: {"lessons": [{"name", "language", "title", "steps",
// "command"}]}.
std::string lesson_list_text(const TextStyle& style, const Catalogue& catalogue,
                             const std::string& program);
io::Json lesson_list_json(const Catalogue& catalogue, const std::string& program);

// Why a cell of one of the lesson's runs has its value: "one_head.self.head.0.scores[1,2]". JSON as
// explain::cell_json. Throws Error(bad_input) for what is no cell of them.
std::string lesson_cell_text(const TextStyle& style, const Catalogue& catalogue,
                             const LessonRuns& runs, const std::string& cell);
io::Json lesson_cell_json(const LessonRuns& runs, const std::string& cell);

// Title, introduction and steps for people; without the introduction where one step is asked for.
std::string lesson_text(const TextStyle& style, const Catalogue& catalogue, const Lesson& lesson,
                        const std::vector<ShownStep>& steps, bool with_introduction = true);
// {"lesson", "language", "title", "intro", "steps": as steps_json}; arrays of more than 100000
// numbers have a shape and no values.
io::Json lesson_json(const Catalogue& catalogue, const Lesson& lesson,
                     const std::vector<ShownStep>& steps);

}  // namespace headlight::narrate
