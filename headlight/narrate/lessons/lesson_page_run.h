// LessonPageRun: all runs of a lesson as the one run that a page's scripts know, with the numbers
// that are shown and those that they are made of.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "headlight/narrate/lessons/lesson_runs.h"
#include "headlight/narrate/page_document.h"
#include "headlight/narrate/shown_step.h"

namespace headlight::narrate {

class LessonPageRun {
 public:
  explicit LessonPageRun(const LessonRuns& runs) : runs_(runs) {}

  // The page shows this array: the name of the tensor that its numbers belong to. Arrays that are
  // no part of a run become tensors that are given.
  std::string show(const ShownArray& array);

  // Operations, formulas and texts of the tensors.
  PageContent content() const;
  // {"run": {"tokens", "source_tokens"}, ...}: words for the positions of each run.
  io::Json labels_json() const;
  // The run, as Page has it. A tensor of many numbers has only those that are needed:
  // {"place of the first": numbers in a row, ...}.
  std::string json() const;

 private:
  bool is_whole(const explain::TracedTensor& tensor) const;
  void need_operands(const LessonRun& run, const explain::TracedTensor& tensor,
                     const std::vector<int64_t>& index);

  const LessonRuns& runs_;
  std::map<std::string, std::set<int64_t>> needed_;  // of tensors that are not there whole
  std::map<std::string, ShownArray> given_;          // arrays that are no part of a run
};

// What JSON has no number for is a string that JavaScript's Number reads.
io::Json page_number(double value);

}  // namespace headlight::narrate
