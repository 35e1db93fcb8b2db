// `headlight lesson`: one of the five tutorials, step by step; its exercises; or the list of them.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>

#include "apps/cli/program/input.h"
#include "apps/cli/program/interruption.h"
#include "apps/cli/program/places.h"
#include "apps/cli/program/program.h"
#include "apps/cli/program/progress.h"
#include "apps/cli/program/terminal.h"
#include "headlight/narrate/narrate.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;
using narrate::Catalogue;
using narrate::Lesson;
using narrate::ShownStep;

constexpr std::string_view kLessonExamples =
    R"(  headlight lesson
      the five lessons: their names, languages and titles
  headlight lesson steps
      self-attention on three inputs, with numbers that can be computed by hand (Turkish)
  headlight lesson nanogpt --lang en
      the eight steps of nanoGPT's attention, and whether one fused layer is faster than three
  headlight lesson from-scratch --step 5
      one step: why scores are divided by the root of the width
  headlight lesson steps --format html --out steps.html
      as a page for the browser, in four languages; click a number to see why
  headlight lesson steps --exercise --lang en
      some numbers are blank: type them in, and it tells you what went wrong
  headlight lesson steps --cell 'one_head.self.head.0.scores[1,2]' --lang en
      why this number: its terms
  headlight lesson d2l --json
      all numbers as JSON

The lessons: nanogpt (Azerbaijani), steps, d2l and transformer (Turkish), from-scratch (Korean); --lang for another language.

--json:
    {"lesson":"","language":"","title":"","intro":"",
     "steps":[{"step":1,"title":"","text":[],"numbers":{},
       "arrays":[{"name":"","title":"","shape":[],"tensor":"","values":[]}]}]}
without a name:
    {"lessons":[{"name":"","language":"","title":"","steps":1,"command":""}]}
with --exercise, which then asks nothing:
    {"lesson":"","language":"","title":"","digits":4,"tolerance":0.01,
     "exercises":[{"step":1,"title":"","array":"","place":0,"tensor":"",
       "cell":"","formula":"","given":[{"name":"","values":[]}],"answer":0,
       "tolerance":0,"variants":[{"name":"","text":"","value":0}]}]}
Arrays of more than 100000 numbers have a shape and no values.
)";

constexpr Option kLessonOptions[] = {
    {"step", "N", "show this step alone"},
    {"format", "NAME", "text, json or html (default: as --out ends, or text)"},
    {"out", "FILE", "write there"},
    {"exercise", "", "ask for numbers that are blank; --seed chooses others"},
    {"cell", "CELL", "why a number of the lesson is what it is"}};

enum class LessonFormat { text, json, html };

LessonFormat lesson_format(const Session& session) {
  constexpr std::array<std::string_view, 3> kFormats = {"text", "json", "html"};
  const std::string name = document_format(session.arguments, kFormats);
  const auto place = std::find(kFormats.begin(), kFormats.end(), name);
  return session.json ? LessonFormat::json : static_cast<LessonFormat>(place - kFormats.begin());
}

const Lesson& lesson_called(const std::string& name) {
  std::vector<std::string_view> names;
  std::string all;
  for (const Lesson& lesson : narrate::lessons()) {
    if (lesson.name == name) return lesson;
    names.push_back(lesson.name);
    all += (all.empty() ? "" : ", ") + lesson.name;
  }
  throw Error(ErrorKind::usage, "lesson", io::in_quotes(name),
              "there are " + all + base::nearest_hint(name, names));
}

// What is about one lesson says nothing of the list.
void check_asks_for_list(const Session& session) {
  for (const char* option : {"step", "exercise", "cell", "out"}) {
    if (!session.arguments.has(option)) continue;
    throw Error(ErrorKind::usage, session.arguments.source(option), "",
                "needs a lesson, as `headlight lesson steps`; `headlight lesson` lists them");
  }
  if (lesson_format(session) == LessonFormat::html) {
    throw Error(ErrorKind::usage, session.arguments.source("format"), io::in_quotes("html"),
                "needs a lesson, as `headlight lesson steps`; `headlight lesson` lists them");
  }
}

void list_lessons(Session& session) {
  const Catalogue& catalogue = Catalogue::of(chosen_language(session.arguments));
  const std::string program = program_name();
  if (lesson_format(session) == LessonFormat::json) {
    session.output.write(io::json_text(narrate::lesson_list_json(catalogue, program)) + "\n");
  } else {
    session.output.write(narrate::lesson_list_text(style_of_output(), catalogue, program));
  }
}

// A lesson that is told in one language.
struct ToldLesson {
  const Lesson& lesson;
  LessonFormat format;
  narrate::LessonOptions options;
  std::vector<ShownStep> steps;
};

std::string json_line(const io::Json& document) { return io::json_text(document) + "\n"; }

// What to read after it, for somebody at a terminal: the lesson in the reader's language where it
// was told in its own, and what comes next.
void suggest_what_is_next(const Session& session, const Lesson& lesson, const Catalogue& told_in,
                          std::optional<int64_t> step) {
  if (!session.talkative || isatty(STDOUT_FILENO) != 1 || session.arguments.has("out")) return;
  const Catalogue& catalogue = catalogue_of(session.arguments);
  const std::string program = program_name();
  const std::string command = narrate::command_of(lesson, told_in.language(), program);
  std::vector<narrate::Suggestion> next;
  if (catalogue.language() != told_in.language()) {
    next.push_back({narrate::command_of(lesson, catalogue.language(), program),
                    catalogue.text("command.next.language")});
  }
  if (step && *step < narrate::step_count(lesson)) {
    next.push_back(
        {command + " --step " + std::to_string(*step + 1), catalogue.text("command.next.step")});
  } else {
    next.push_back({command + " --exercise", catalogue.text("command.next.exercise")});
    next.push_back(
        {command + " --out " + lesson.name + ".html", catalogue.text("command.next.page")});
  }
  session.output.flush();
  print_as_it_is(narrate::suggestions_text(catalogue, next, columns_of_errors()));
}

// Asks until the last exercise, an empty line or the end of input.
void ask(Session& session, const ToldLesson& told,
         const std::vector<narrate::Exercise>& exercises) {
  narrate::ExerciseSession asking(style_of_output(), told.options.catalogue, told.lesson,
                                  told.steps, exercises);
  const char* prompt = isatty(STDIN_FILENO) != 0 ? "> " : ">\n";
  session.output.write(asking.introduction());
  TypedLines lines;
  while (!asking.is_over()) {
    session.output.write(asking.question() + prompt);
    session.output.flush();
    const std::optional<std::string> line = lines.next();
    if (!line || narrate::read_answer(*line).kind == narrate::AnswerKind::nothing) break;
    session.output.write(asking.reply(*line));
  }
  session.output.write("\n" + asking.summary());
}

// Of one step, where one is wanted.
std::vector<narrate::Exercise> chosen_exercises(const Session& session, const ToldLesson& told,
                                                std::optional<int64_t> step) {
  std::vector<narrate::Exercise> exercises =
      narrate::exercises_of(*told.options.runs, told.steps, told.options.seed);
  if (!step) return exercises;
  std::string others;
  int before = 0;
  for (const narrate::Exercise& one : exercises) {
    const int number = told.steps[one.step].number;
    if (number != before) others += (others.empty() ? "" : ", ") + std::to_string(number);
    before = number;
  }
  std::erase_if(exercises,
                [&](const narrate::Exercise& one) { return told.steps[one.step].number != *step; });
  if (exercises.empty()) {
    throw Error(ErrorKind::usage, session.arguments.source("step"), std::to_string(*step),
                "this step of the lesson " + told.lesson.name +
                    " has no exercises; there are some in " + others);
  }
  return exercises;
}

void check_step(const Session& session, const ToldLesson& told, int64_t wanted) {
  const auto has = [&](const ShownStep& step) { return step.number == wanted; };
  if (std::ranges::any_of(told.steps, has)) return;
  throw Error(ErrorKind::usage, session.arguments.source("step"), std::to_string(wanted),
              "the lesson " + told.lesson.name + " has the steps 1 to " +
                  std::to_string(told.steps.back().number));
}

std::string lesson_document(const narrate::TextStyle& style, ToldLesson& told,
                            std::optional<int64_t> wanted) {
  if (wanted) {
    std::erase_if(told.steps, [&](const ShownStep& step) { return step.number != *wanted; });
  }
  const Catalogue& catalogue = told.options.catalogue;
  if (told.format == LessonFormat::json) {
    return json_line(narrate::lesson_json(catalogue, told.lesson, told.steps));
  }
  return narrate::lesson_text(style, catalogue, told.lesson, told.steps, !wanted);
}

// To standard output, or to a file, of which is said that it is there.
void write_document(Session& session, const Catalogue& catalogue,
                    const std::function<void(base::Output& output)>& write) {
  const auto out = session.arguments.text("out");
  if (!out) return write(session.output);
  {
    const Uninterrupted file_is_written;
    base::write_file(session.files, *out, write);
  }
  if (session.arguments.has("quiet")) return;
  base::FileStatus status;
  session.files.path_status(*out, status);
  const bool is_page = lesson_format(session) == LessonFormat::html;
  print_line(catalogue.text(
      is_page ? "message.written_page" : "message.written",
      {{"path", narrate::visible(*out)}, {"size", narrate::size_text(catalogue, status.size)}}));
}

void write_page_of(Session& session, const Lesson& lesson, const ToldLesson& told,
                   std::optional<int64_t> step) {
  if (step && (*step < 1 || *step > narrate::step_count(lesson))) {
    throw Error(ErrorKind::usage, session.arguments.source("step"), std::to_string(*step),
                "the lesson " + lesson.name + " has the steps 1 to " +
                    std::to_string(narrate::step_count(lesson)));
  }
  const narrate::LessonPageOptions options{
      .language = std::string(told.options.catalogue.language()),
      .seed = told.options.seed,
      .step = static_cast<int>(step.value_or(0)),
      .exercise = session.arguments.has("exercise"),
      .program = program_name()};
  std::optional<Progress> progress;
  progress.emplace(session, command_text(session, "command.progress.computing"));
  write_document(session, told.options.catalogue, [&](base::Output& output) {
    narrate::write_lesson_page(output, told.options.threads, lesson, options);
    progress.reset();
  });
}

void run_lesson(Session& session) {
  Arguments& arguments = session.arguments;
  const auto name = arguments.text("lesson");
  if (!name) check_asks_for_list(session);
  if (lesson_format(session) == LessonFormat::text) session.output.allow_colors();
  if (!name) return list_lessons(session);
  const Lesson& lesson = lesson_called(*name);
  const auto wanted = arguments.integer("step", {1, 99});
  exclude(arguments, "cell", "exercise");
  exclude(arguments, "cell", "step");
  if (arguments.has("exercise") && lesson_format(session) == LessonFormat::text) {
    exclude(arguments, "out", "exercise", "is for --format html or json: the terminal asks");
  }
  if (lesson_format(session) == LessonFormat::html) check_page_has_file(arguments, *name + ".html");
  check_outputs(session.files, arguments, {.inputs = {}, .outputs = {"out"}});
  base::ThreadPool threads(session.threads);
  const Catalogue& catalogue = Catalogue::of(arguments.text("lang").value_or(lesson.language));
  ToldLesson told{lesson,
                  lesson_format(session),
                  {.catalogue = catalogue, .threads = threads, .program = program_name()},
                  {}};
  if (arguments.has("seed")) told.options.seed = session.seed;
  if (told.format == LessonFormat::html) return write_page_of(session, lesson, told, wanted);
  {
    const Progress progress(session, command_text(session, "command.progress.computing"));
    told.steps = lesson.steps(told.options);
  }
  if (wanted) check_step(session, told, *wanted);
  const narrate::TextStyle style = style_of_document(arguments);
  std::string document;
  if (const auto cell = arguments.text("cell")) {
    document = told.format == LessonFormat::json
                   ? json_line(narrate::lesson_cell_json(*told.options.runs, *cell))
                   : narrate::lesson_cell_text(style, catalogue, *told.options.runs, *cell);
  } else if (arguments.has("exercise")) {
    const auto exercises = chosen_exercises(session, told, wanted);
    if (told.format == LessonFormat::text) return ask(session, told, exercises);
    document = json_line(narrate::exercises_json(catalogue, lesson, told.steps, exercises));
  } else {
    document = lesson_document(style, told, wanted);
  }
  write_document(session, catalogue, [&](base::Output& output) { output.write(document); });
  if (told.format == LessonFormat::text && !arguments.has("cell")) {
    suggest_what_is_next(session, lesson, catalogue, wanted);
  }
}

}  // namespace

const Command kLesson = {
    "lesson",        "follow one of five tutorials on attention, with their numbers",
    kLessonExamples, kLessonOptions,
    run_lesson,      {.name = "LESSON", .required = false}};

}  // namespace headlight::cli
