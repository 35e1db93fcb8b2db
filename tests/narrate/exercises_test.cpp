// Exercises of the lessons: which cells are asked for, and what answers are told.
#include "tests/narrate/support.h"

namespace headlight::narrate {
namespace {

const Lesson& lesson_of(const std::string& name) {
  return *std::ranges::find(lessons(), name, &Lesson::name);
}

// A lesson's steps in English, with its exercises.
struct Practised {
  LessonOptions options;
  const Lesson& lesson;
  std::vector<ShownStep> steps;
  std::vector<Exercise> exercises;
};

class Exercises : public NarrateTest {
 protected:
  Practised practise(const std::string& name, uint64_t seed = 1, std::string_view language = "en") {
    Practised all{{.catalogue = Catalogue::of(language), .threads = threads_, .seed = seed},
                  lesson_of(name),
                  {},
                  {}};
    all.steps = all.lesson.steps(all.options);
    all.exercises = exercises_of(*all.options.runs, all.steps, seed);
    return all;
  }
};

TEST_F(Exercises, arrays_of_runs_have_the_numbers_of_the_trace) {
  for (const Lesson& lesson : lessons()) {
    const Practised all = practise(lesson.name);
    size_t linked = 0;
    for (const ShownStep& step : all.steps) {
      for (const ShownArray& array : step.arrays) {
        if (array.tensor.empty()) continue;
        ++linked;
        const auto [run, name] = all.options.runs->find(array.tensor);
        const tensor::Tensor values = run->trace.values(name).contiguous();
        ASSERT_EQ(values.dtype(), array.numbers.dtype());
        const size_t size = array.numbers.bytes() / static_cast<size_t>(array.numbers.elements());
        const auto begin = static_cast<size_t>(array.tensor_begin) * size;
        ASSERT_LE(begin + array.numbers.bytes(), values.bytes()) << array.name;
        EXPECT_EQ(std::memcmp(values.raw() + begin, array.numbers.contiguous().raw(),
                              array.numbers.bytes()),
                  0)
            << lesson.name << " " << array.name;
      }
    }
    EXPECT_GT(linked, 3U) << lesson.name;
  }
}

TEST_F(Exercises, every_lesson_has_a_handful_and_names_mistakes) {
  for (const Lesson& lesson : lessons()) {
    const Practised all = practise(lesson.name);
    EXPECT_GE(all.exercises.size(), 5U) << lesson.name;
    EXPECT_LE(all.exercises.size(), 16U) << lesson.name;
    for (const Exercise& one : all.exercises) {
      EXPECT_EQ(judge(one, one.answer).verdict, Verdict::right);
      EXPECT_FALSE(one.given.empty());
      ASSERT_FALSE(one.mistakes.empty());
      for (const explain::Mistake& mistake : one.mistakes) {
        const Judgement judgement = judge(one, mistake.value);
        ASSERT_EQ(judgement.verdict, Verdict::mistake) << lesson.name << " " << mistake.key;
        EXPECT_EQ(judgement.mistake->key, mistake.key);
        for (const std::string_view language : languages()) {
          EXPECT_FALSE(mistake_text(Catalogue::of(language), mistake).empty());
        }
      }
    }
  }
}

TEST_F(Exercises, come_out_right_from_the_digits_that_are_shown) {
  for (const Lesson& lesson : lessons()) {
    const Practised all = practise(lesson.name);
    for (const Exercise& one : all.exercises) {
      const ShownArray& array = all.steps[one.step].arrays[one.array];
      EXPECT_EQ(one.answer, array.numbers.contiguous().data<float>()[one.place]);
      EXPECT_GE(one.tolerance, 0.5e-4);
      EXPECT_GE(one.tolerance, 0.01 * std::fabs(one.answer));
    }
  }
}

TEST_F(Exercises, are_the_same_for_a_seed_and_others_for_another) {
  const auto cells = [&](uint64_t seed) {
    const Practised all = practise("steps", 1);
    std::string text;
    for (const Exercise& one : exercises_of(*all.options.runs, all.steps, seed)) {
      text += explain::cell_text(one.run->trace, one.cell) + " ";
    }
    return text;
  };
  EXPECT_EQ(cells(1), cells(1));
  EXPECT_NE(cells(1), cells(2));
}

TEST_F(Exercises, read_numbers_as_people_type_them) {
  const auto number = [](std::string_view line) {
    const TypedAnswer answer = read_answer(line);
    EXPECT_EQ(answer.kind, AnswerKind::number) << line;
    return answer.number;
  };
  EXPECT_EQ(number("0.53"), 0.53);
  EXPECT_EQ(number("0,53"), 0.53);
  EXPECT_EQ(number("  .5\t"), 0.5);
  EXPECT_EQ(number("−2"), -2);
  EXPECT_EQ(number("–2,5"), -2.5);
  EXPECT_EQ(number("+3"), 3);
  EXPECT_EQ(number("1/2"), 0.5);
  EXPECT_EQ(number("−1 / 4"), -0.25);
  EXPECT_EQ(number("1e-3"), 0.001);
  EXPECT_EQ(number("1,5e2\r"), 150);
}

TEST_F(Exercises, refuse_what_is_no_number) {
  const auto kind = [](std::string_view line) { return read_answer(line).kind; };
  EXPECT_EQ(kind(""), AnswerKind::nothing);
  EXPECT_EQ(kind(" \t\r"), AnswerKind::nothing);
  EXPECT_EQ(kind(" ? "), AnswerKind::question);
  for (const std::string_view line :
       {"nan", "inf", "-infinity", "abc", "1.2.3",     "1.234,5",  "1,2,3",   "0x10",
        "--1", "1/0", "1/",        "/2",  "1/2/3",     "+-1",      "1e",      "e5",
        "-",   ".",   ",",         "5%5", "\x1b[31m1", "\xff\xfe", "\xe2\x88"}) {
    EXPECT_EQ(kind(line), AnswerKind::no_number) << line;
  }
  EXPECT_EQ(kind(std::string_view("1\0002", 3)), AnswerKind::no_number);
  EXPECT_EQ(kind("1e999"), AnswerKind::too_large);
  EXPECT_EQ(kind("-1e300"), AnswerKind::too_large);
  EXPECT_EQ(kind("1e300/1e-300"), AnswerKind::too_large);
  EXPECT_EQ(kind(std::string(200, '1')), AnswerKind::too_long);
}

TEST_F(Exercises, a_session_counts_and_names) {
  const Practised all = practise("from-scratch");
  ExerciseSession session({}, all.options.catalogue, all.lesson, all.steps, all.exercises);
  EXPECT_NE(session.introduction().find("within 1%"), std::string::npos);
  const Exercise& first = all.exercises.front();
  EXPECT_NE(session.question().find(" = ?"), std::string::npos);
  const std::string wrong = session.reply(std::to_string(first.mistakes.front().value));
  EXPECT_NE(wrong.find(mistake_text(all.options.catalogue, first.mistakes.front()).substr(0, 20)),
            std::string::npos)
      << wrong;
  EXPECT_EQ(session.question(), "");  // it stands there still
  EXPECT_NE(session.reply("what?").find("not a number"), std::string::npos);
  EXPECT_NE(session.reply(std::to_string(first.answer)).find("Right: "), std::string::npos);
  EXPECT_NE(session.question(), "");
  EXPECT_NE(session.reply("?").find(" = "), std::string::npos);
  while (!session.is_over()) session.reply("?");
  const std::string count = std::to_string(all.exercises.size());
  const std::string shown = std::to_string(all.exercises.size() - 1);
  const std::string summary = session.summary();
  EXPECT_NE(summary.find("Answered: " + count + " of " + count), std::string::npos) << summary;
  EXPECT_NE(summary.find("Right after another try: 1."), std::string::npos) << summary;
  EXPECT_NE(summary.find("Shown: " + shown), std::string::npos) << summary;
}

TEST_F(Exercises, a_number_that_is_nearly_right_was_rounded) {
  const Practised all = practise("from-scratch");
  for (const Exercise& one : all.exercises) {
    const double nearly = one.answer * 1.03;
    const Verdict verdict = judge(one, nearly).verdict;
    EXPECT_TRUE(verdict == Verdict::rounding || verdict == Verdict::mistake);
  }
}

TEST_F(Exercises, the_list_of_lessons_knows_how_many_steps_each_has) {
  for (const Lesson& lesson : lessons()) {
    EXPECT_EQ(step_count(lesson), practise(lesson.name).steps.back().number) << lesson.name;
  }
}

}  // namespace
}  // namespace headlight::narrate
