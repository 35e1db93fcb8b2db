// Runs by name, and tensors by the names that readers know.
#include "headlight/narrate/lessons/lesson_runs.h"

#include <algorithm>

namespace headlight::narrate {
namespace {

using base::Error;
using base::ErrorKind;

// Whether the name is one of the run's, by how it begins.
bool begins_with(const std::string& full_name, const LessonRun& run) {
  return run.name.empty() || full_name.starts_with(run.name + ".");
}

std::string own_name(const std::string& full_name, const LessonRun& run) {
  return run.name.empty() ? full_name : full_name.substr(run.name.size() + 1);
}

}  // namespace

explain::Trace& LessonRuns::traced(const std::string& name,
                                   const std::function<explain::Trace()>& make) {
  const auto known = std::ranges::find(runs_, name, [](const auto& run) { return run->name; });
  if (known != runs_.end()) return (*known)->trace;
  runs_.push_back(std::make_unique<LessonRun>(LessonRun{name, make()}));
  return runs_.back()->trace;
}

const LessonRun& LessonRuns::at(const std::string& name) const {
  const auto known = std::ranges::find(runs_, name, [](const auto& run) { return run->name; });
  if (known == runs_.end()) {
    throw Error(ErrorKind::failed, "lesson", io::in_quotes(name), "there is no such run");
  }
  return **known;
}

bool LessonRuns::knows(const std::string& full_name) const {
  return std::ranges::any_of(runs_, [&](const auto& run) {
    return begins_with(full_name, *run) && run->trace.find(own_name(full_name, *run)) != nullptr;
  });
}

LessonRuns::Found LessonRuns::find(const std::string& full_name) const {
  std::vector<std::string> names;
  for (const auto& run : runs_) {
    const bool is_named = begins_with(full_name, *run);
    if (is_named && run->trace.find(own_name(full_name, *run)) != nullptr) {
      return {run.get(), own_name(full_name, *run)};
    }
    for (const auto* tensors : {&run->trace.tensors(), &run->trace.parameters()}) {
      for (const auto& tensor : *tensors) names.push_back(run->full_name(tensor.name));
    }
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  throw Error(ErrorKind::bad_input, "lesson", io::in_quotes(full_name),
              views.empty() ? std::string("the lesson has no numbers that can be asked why")
                            : "there is no such tensor" + base::nearest_hint(full_name, views));
}

std::pair<const LessonRun*, explain::CellReference> LessonRuns::parse_cell(
    const std::string& text) const {
  explain::check_cell(text);
  std::string name = text.substr(0, text.find('['));
  const size_t head = name.find(".head.");
  if (head != std::string::npos) {
    const size_t after = name.find('.', head + std::string_view(".head.").size());
    name = name.substr(0, head) + (after == std::string::npos ? "" : name.substr(after));
  }
  const LessonRun& run = *find(name).run;
  return {&run, explain::parse_cell(run.trace, own_name(text, run))};
}

}  // namespace headlight::narrate
