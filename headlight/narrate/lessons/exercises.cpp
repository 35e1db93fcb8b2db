// Which cells are asked for.
#include "headlight/narrate/lessons/exercises.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "headlight/narrate/lessons/shown_excerpt.h"

namespace headlight::narrate {
namespace {

using explain::CellTerms;
using explain::Trace;

constexpr size_t kMostExercises = 16;
constexpr size_t kMostOfAKind = 2;      // in one run
constexpr size_t kMostGivenTerms = 8;   // that a learner is to combine
constexpr size_t kMostTried = 96;       // cells of one array that are looked at
constexpr size_t kMostCandidates = 12;  // of them, those that are kept
constexpr double kSmallestAnswer = 0.01;
constexpr double kLargestAnswer = 1e4;

double as_shown(double number) {
  const double unit = std::pow(10.0, kAnswerDigits);
  return std::isfinite(number) ? std::round(number * unit) / unit : number;
}

// The positions of an index as they are written, "[2,1]" taken apart.
std::vector<std::string> written_index(const std::string& cell) {
  std::vector<std::string> parts(1);
  for (size_t i = cell.find('[') + 1; i + 1 < cell.size(); ++i) {
    if (cell[i] == ',') {
      parts.emplace_back();
    } else {
      parts.back() += cell[i];
    }
  }
  return parts;
}

// A cell without its place: "head.1.query[0,2]" of "encoder.0.self.head.1.query[0,2]".
std::string near_name(const Trace& trace, const explain::CellReference& cell) {
  const std::string text = explain::cell_text(trace, cell);
  if (trace.at(cell.name).is_parameter()) return text;
  const size_t head = text.find("head.");
  if (head != std::string::npos && trace.at(cell.name).shape[1] > 1) return text.substr(head);
  const size_t dot = text.rfind('.', text.find('['));
  return dot == std::string::npos ? text : text.substr(dot + 1);
}

// Numbers of one tensor under one name, with ":" for the position in which they differ.
class NumbersOfTensor {
 public:
  explicit NumbersOfTensor(std::string tensor) : tensor_(std::move(tensor)) {}
  const std::string& tensor() const { return tensor_; }

  void add(const Trace& trace, const explain::Factor& factor) {
    const std::string name = near_name(trace, factor.cell);
    const std::vector<std::string> index = written_index(name);
    if (values_.empty()) {
      name_ = name.substr(0, name.find('['));
      index_ = index;
    }
    for (size_t i = 0; i < index.size(); ++i) {
      if (index_[i] != index[i]) index_[i] = ":";
    }
    values_.push_back(factor.value);
  }

  GivenNumbers given() const {
    std::string name = name_ + "[";
    for (size_t i = 0; i < index_.size(); ++i) name += (i > 0 ? "," : "") + index_[i];
    return {name + "]", "", values_};
  }

 private:
  std::string tensor_;
  std::string name_;
  std::vector<std::string> index_;
  std::vector<double> values_;
};

std::vector<GivenNumbers> given_numbers(const Trace& trace, const CellTerms& cell) {
  std::vector<NumbersOfTensor> tensors;
  for (const explain::Term& term : cell.terms) {
    std::set<std::string> seen;
    for (const explain::Factor& factor : term.factors) {
      // A product of two numbers of one tensor has it twice.
      std::string key = factor.cell.name;
      while (!seen.insert(key).second) key += "'";
      auto known = std::ranges::find(tensors, key, &NumbersOfTensor::tensor);
      if (known == tensors.end()) known = tensors.insert(known, NumbersOfTensor(key));
      known->add(trace, factor);
    }
  }
  std::vector<GivenNumbers> given;
  for (const NumbersOfTensor& numbers : tensors) given.push_back(numbers.given());
  for (const explain::Ingredient& one : cell.ingredients) {
    given.push_back({one.cell ? near_name(trace, *one.cell) : "", one.key, {one.value}});
  }
  return given;
}

// Whether there is something to compute, and little enough of it.
bool is_worth_computing(const CellTerms& right, const CellTerms& given,
                        const std::vector<GivenNumbers>& numbers, double tolerance) {
  if (right.combination == "nothing" || right.combination == "hidden") return false;
  const double size = std::fabs(right.value);
  if (!std::isfinite(size) || size < kSmallestAnswer || size > kLargestAnswer) return false;
  if (given.terms.empty() || given.terms.size() > kMostGivenTerms) return false;
  for (const GivenNumbers& one : numbers) {
    for (const double value : one.values) {
      if (std::fabs(value - right.value) <= tolerance) return false;  // it could be copied
    }
  }
  // What is hidden or 0 is no work.
  const auto is_seen = [](const explain::Term& term) { return std::isfinite(term.value); };
  if (given.terms.size() > 1 && std::ranges::count_if(given.terms, is_seen) < 2) return false;
  const auto counts = [&](const explain::Term& term) { return is_seen(term) && term.value != 0; };
  return right.combination != "sum" || std::ranges::count_if(right.terms, counts) > 1;
}

// Whether the digits that are shown lead to the answer.
bool is_fair(const Trace& trace, const explain::CellReference& cell, double tolerance) {
  const explain::Rule& rule = trace.at(cell.name).description().rule;
  const auto rounded = explain::explain_cell_by(trace, cell, rule, as_shown);
  return rounded && std::fabs(rounded->combined - rounded->value) <= tolerance / 2;
}

// Whole numbers are easier than others, and zeros fall away.
size_t cost_of(const Exercise& exercise) {
  size_t cost = 0;
  for (const GivenNumbers& one : exercise.given) {
    for (const double value : one.values) {
      cost += value == 0 || !std::isfinite(value) ? 0 : value == std::round(value) ? 1 : 3;
    }
  }
  return cost;
}

std::optional<Exercise> exercise_at(const LessonRun& run, const explain::CellReference& cell) {
  const CellTerms right = explain::explain_cell(run.trace, cell);
  const auto given = explain::given_by_hand(run.trace, cell);
  if (!given) return std::nullopt;
  Exercise exercise{
      .run = &run, .cell = cell, .answer = right.value, .tolerance = answer_tolerance(right.value)};
  exercise.given = given_numbers(run.trace, *given);
  if (!is_worth_computing(right, *given, exercise.given, exercise.tolerance)) return std::nullopt;
  if (!is_fair(run.trace, cell, exercise.tolerance)) return std::nullopt;
  exercise.mistakes = explain::mistakes_of(run.trace, cell, exercise.tolerance);
  const auto is_telling = [](const explain::Mistake& one) {
    return one.key != "sign" && one.key != "decimal_point";
  };
  if (std::ranges::none_of(exercise.mistakes, is_telling)) return std::nullopt;
  return exercise;
}

// The exercises of one array, the best first.
std::vector<Exercise> candidates(const LessonRuns& runs, const ShownArray& array, uint64_t seed) {
  std::vector<Exercise> found;
  if (!runs.knows(array.tensor)) return found;
  const auto [run, name] = runs.find(array.tensor);
  const explain::TracedTensor& tensor = run->trace.at(name);
  if (!explain::operation_table().practices.contains(tensor.operation)) return found;
  std::vector<int64_t> places = excerpt_of(array).places();
  const base::Random random(base::mix(seed, base::name_key(array.tensor + array.name)));
  for (size_t i = places.size(); i > 1; --i) {
    std::swap(places[i - 1], places[static_cast<size_t>(random.below(i, i))]);
  }
  places.resize(std::min(places.size(), kMostTried));
  for (const int64_t place : places) {
    auto one = exercise_at(*run, {name, index_in(tensor.shape, array.tensor_begin + place)});
    if (!one) continue;
    one->place = place;
    found.push_back(std::move(*one));
    if (found.size() == kMostCandidates) break;
  }
  std::ranges::stable_sort(found, {}, cost_of);
  return found;
}

bool differs(const std::vector<Exercise>& chosen, const Exercise& one) {
  return std::ranges::none_of(chosen, [&](const Exercise& other) {
    return other.cell == one.cell || std::fabs(other.answer - one.answer) <= one.tolerance;
  });
}

}  // namespace

double answer_tolerance(double number) {
  return std::max(0.5 * std::pow(10.0, -kAnswerDigits), kAnswerTolerance * std::fabs(number));
}

std::vector<Exercise> exercises_of(const LessonRuns& runs, const std::vector<ShownStep>& steps,
                                   uint64_t seed) {
  std::map<std::pair<std::string, std::string>, std::vector<Exercise>> kinds;
  for (size_t step = 0; step < steps.size(); ++step) {
    for (size_t array = 0; array < steps[step].arrays.size(); ++array) {
      for (Exercise& one : candidates(runs, steps[step].arrays[array], seed)) {
        const std::string& formula = one.run->trace.at(one.cell.name).formula;
        std::vector<Exercise>& chosen = kinds[{one.run->name, formula}];
        if (chosen.size() == kMostOfAKind) break;
        if (!differs(chosen, one)) continue;
        one.step = step;
        one.array = array;
        chosen.push_back(std::move(one));
      }
    }
  }
  // One of each kind before the second of any.
  std::vector<Exercise> all;
  for (size_t i = 0; i < kMostOfAKind; ++i) {
    for (auto& [_, chosen] : kinds) {
      if (i < chosen.size() && all.size() < kMostExercises) all.push_back(std::move(chosen[i]));
    }
  }
  std::ranges::stable_sort(
      all, {}, [](const Exercise& one) { return std::tuple(one.step, one.array, one.place); });
  return all;
}

std::string mistake_text(const Catalogue& catalogue, const explain::Mistake& mistake) {
  return catalogue.text("mistake." + mistake.key, {{"term", std::to_string(mistake.term)}});
}

io::Json exercises_json(const Catalogue& catalogue, const Lesson& lesson,
                        const std::vector<ShownStep>& steps,
                        const std::vector<Exercise>& exercises) {
  io::Json::Array list;
  for (const Exercise& one : exercises) {
    const ShownStep& step = steps[one.step];
    io::Json::Array given, variants;
    for (const GivenNumbers& numbers : one.given) {
      given.emplace_back(io::Json::Object{
          {"name", numbers.name.empty() ? numbers.ingredient : numbers.name},
          {"values", io::Json::Array(numbers.values.begin(), numbers.values.end())}});
    }
    for (const explain::Mistake& mistake : one.mistakes) {
      variants.emplace_back(io::Json::Object{{"name", mistake.key},
                                             {"text", mistake_text(catalogue, mistake)},
                                             {"value", mistake.value}});
    }
    const explain::TracedTensor& tensor = one.run->trace.at(one.cell.name);
    list.emplace_back(
        io::Json::Object{{"step", step.number},
                         {"title", step.title},
                         {"array", step.arrays[one.array].name},
                         {"place", one.place},
                         {"tensor", one.run->full_name(one.cell.name)},
                         {"cell", one.run->full_name(explain::cell_text(one.run->trace, one.cell))},
                         {"formula", catalogue.formula(tensor)},
                         {"given", std::move(given)},
                         {"answer", one.answer},
                         {"tolerance", one.tolerance},
                         {"variants", std::move(variants)}});
  }
  return io::Json::Object{{"lesson", lesson.name},
                          {"language", catalogue.language()},
                          {"title", catalogue.text("lesson." + lesson.name + ".title")},
                          {"digits", kAnswerDigits},
                          {"tolerance", kAnswerTolerance},
                          {"exercises", std::move(list)}};
}

}  // namespace headlight::narrate
