// What `headlight explain` gives: text, JSON, a page or a file of tensors.
#pragma once

#include <string>

#include "apps/cli/explain_page.h"
#include "apps/cli/explain_run.h"

namespace headlight::cli {

// Collects what is shown: of the run before the training, and of the run.
class Report {
 public:
  explicit Report(const Explaining& work);

  // `heading`: a key of the catalogue, where there are several runs; null: none.
  void add(Explained run, const char* heading, const recipes::WorkedTraining* training);
  void tell_training(const recipes::WorkedTraining& training);
  void write(base::Output& output);

 private:
  const Explaining& work_;
  Page page_;
  std::string text_;
  io::Json document_, before_, training_;
};

}  // namespace headlight::cli
