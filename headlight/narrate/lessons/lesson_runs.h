// LessonRuns: what a lesson computes, made once and kept. Its steps can then be told in several
// languages with the same numbers, and every number of a traced run can be asked why.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "headlight/explain/explain.h"

namespace headlight::narrate {

struct LessonRun {
  std::string name;
  explain::Trace trace;

  // What the lesson's reader knows a tensor of the run by: "<run>.<tensor>"; of the run "" its own
  // name.
  std::string full_name(std::string_view tensor) const {
    return name.empty() ? std::string(tensor) : name + "." + std::string(tensor);
  }
};

// Belongs to one thread at a time.
class LessonRuns {
 public:
  // The run of this name; `make` is called when it is first asked for. Variants may be added to it,
  // before its tensors are asked why. Parameters that a trace
  // reads must stay as they are: what is trained is another model, made with the same seed.
  explain::Trace& traced(const std::string& name, const std::function<explain::Trace()>& make);
  // Anything else that is to be the same in every language: a measurement, a training.
  template <class Make>
  const auto& once(const std::string& name, const Make& make) {
    using Kept = std::invoke_result_t<Make>;
    std::shared_ptr<const void>& kept = others_[name];
    if (kept == nullptr) kept = std::make_shared<const Kept>(make());
    return *static_cast<const Kept*>(kept.get());
  }

  // In the order in which they were made.
  const std::vector<std::unique_ptr<LessonRun>>& all() const noexcept { return runs_; }
  // The run called so; Error(failed) where there is none, which is our own mistake.
  const LessonRun& at(const std::string& name) const;
  bool knows(const std::string& full_name) const;
  // A tensor of a run by its full name; Error(bad_input) with the nearest name where there is none.
  struct Found {
    const LessonRun* run;
    std::string tensor;  // by its own name
  };
  Found find(const std::string& full_name) const;
  // "one_head.self.head.0.scores[3,5]"; Error(bad_input) as explain::parse_cell.
  std::pair<const LessonRun*, explain::CellReference> parse_cell(const std::string& text) const;

 private:
  std::vector<std::unique_ptr<LessonRun>> runs_;
  std::map<std::string, std::shared_ptr<const void>> others_;
};

}  // namespace headlight::narrate
