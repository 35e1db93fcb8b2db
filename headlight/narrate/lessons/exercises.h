// Exercises: cells of a lesson that are worth computing by hand, and what a learner's answer to one
// of them is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/narrate/lessons/lesson.h"

namespace headlight::narrate {

// Numbers that the learner computes with: a row, a column or one number of an operand.
struct GivenNumbers {
  std::string name;        // "key[2,:]"; of an ingredient that is no cell, empty
  std::string ingredient;  // its key ("factor", "epsilon"), or empty
  std::vector<double> values;
};

struct Exercise {
  size_t step = 0;                 // which of the lesson's steps, counted from 0
  size_t array = 0;                // which of that step's arrays
  int64_t place = 0;               // which of that array's numbers is blank
  const LessonRun* run = nullptr;  // that the cell belongs to
  explain::CellReference cell = {};
  double answer = 0;
  double tolerance = 0;
  std::vector<GivenNumbers> given = {};
  std::vector<explain::Mistake> mistakes = {};
};

inline constexpr int kAnswerDigits = 4;           // decimals that are shown
inline constexpr double kAnswerTolerance = 0.01;  // of the number itself
// How far an answer may be from the number: half a unit of the digits shown, or 1 %, whichever is
// larger.
double answer_tolerance(double number);

// Cells of the arrays of the steps that have few and visible operands, are not there to be copied,
// come out right from the digits that are shown, and are told apart from what the usual mistakes
// give. The seed chooses among them: at most two of a kind in each run, sixteen in all, in the
// order of the steps.
std::vector<Exercise> exercises_of(const LessonRuns& runs, const std::vector<ShownStep>& steps,
                                   uint64_t seed);

// {"lesson", "language", "title", "digits", "tolerance", "exercises": [{"step", "title", "array",
// "place" (of the blank in the array, counted from 0), "tensor", "cell", "formula", "given":
// [{"name", "values"}], "answer", "tolerance", "variants": [{"name", "text", "value"}]}]}.
io::Json exercises_json(const Catalogue& catalogue, const Lesson& lesson,
                        const std::vector<ShownStep>& steps,
                        const std::vector<Exercise>& exercises);

// Why a mistake gives its number, in a sentence.
std::string mistake_text(const Catalogue& catalogue, const explain::Mistake& mistake);

}  // namespace headlight::narrate
