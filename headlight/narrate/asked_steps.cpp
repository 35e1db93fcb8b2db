// From what is asked for to the steps that answer it.
#include "headlight/narrate/asked_steps.h"

#include <set>
#include <utility>

#include "headlight/narrate/walk.h"

namespace headlight::narrate {
namespace {

Walk walk_of(const ExplainWork& work, const ExplainedRun& run) {
  return {.catalogue = work.catalogue,
          .trace = run.trace,
          .sentences = work.subject.sentences(),
          .vocabulary_size = work.subject.vocabulary_size(),
          .continuation = run.continuation,
          .loss = run.loss,
          .with_numbers = work.request.format != ExplainFormat::json,
          .weight_is_asked = work.request.cell.has_value()};
}

// Which group of variants a step has, and how each compares.
void add_variants_to(const ExplainWork& work, const ExplainedRun& run, Step asked,
                     ShownStep& shown) {
  std::set<std::string> groups;
  for (const explain::Variant& variant : run.variants) {
    const std::string group = variant.key.substr(0, variant.key.find('.'));
    const bool is_asked = work.request.variants.contains(variant.key);
    if (step_of(run.trace, variant) != asked) continue;
    if (is_asked && !variant.is_own) {
      for (const std::string& name : variant.tensors) {
        shown.arrays.push_back(shown_tensor(run.trace, work.catalogue, run.trace.at(name)));
      }
    }
    if (!groups.insert(group).second) continue;
    shown.afterwards.push_back(work.catalogue.text("variant." + group));
    std::string lines;
    for (const explain::Variant& one : run.variants) {
      if (one.place != variant.place || !one.key.starts_with(group + ".")) continue;
      const std::string difference =
          one.is_own ? work.catalogue.text("variant.own")
                     : work.catalogue.text(
                           "variant.difference",
                           {{"difference", work.catalogue.number(one.largest_difference, 4)}});
      lines += (lines.empty() ? "" : "; ") + work.catalogue.text("variant." + one.key) + ": " +
               difference;
    }
    shown.afterwards.push_back(lines + ".");
  }
  const std::string_view closing = closing_of(asked);
  if (!closing.empty() && !shown.arrays.empty()) {
    shown.afterwards.push_back(work.catalogue.text(closing));
  }
}

}  // namespace

std::vector<ShownStep> named_steps(const ExplainWork& work, const ExplainedRun& run) {
  std::vector<ShownStep> steps;
  bool changed = false;
  for (const std::string& name : work.request.names) {
    const explain::TensorSelection selection = explain::parse_tensor(run.trace, name);
    const explain::TracedTensor& tensor = run.trace.at(selection.name);
    ShownStep& step =
        steps.emplace_back(ShownStep{.number = number_of(step_of_use(run.trace, tensor)),
                                     .title = work.catalogue.title(tensor)});
    std::vector<std::string> forms = asked_forms(work, run, selection.name);
    changed = changed || !forms.empty();
    forms.insert(forms.begin(), selection.name);
    for (const std::string& form : forms) {
      step.arrays.push_back(
          shown_tensor(run.trace, work.catalogue, run.trace.at(form), selection.head));
    }
  }
  if (!changed) {
    refuse_unchanged(work, run, explain::parse_tensor(run.trace, work.request.names.front()).name);
  }
  return steps;
}

std::vector<ShownStep> asked_steps(const ExplainWork& work, const ExplainedRun& run) {
  const Walk walk = walk_of(work, run);
  if (work.request.answers_cell()) {
    return {cell_step(walk, explain::explain_cell(run.trace, asked_cell(work, run)))};
  }
  if (!work.request.names.empty()) return named_steps(work, run);
  std::vector<ShownStep> shown;
  for (const Step step : all_steps()) {
    if (!work.request.shows(step)) continue;
    if (step == Step::learning && run.backward) {
      for (ShownStep& part : backward_steps(walk, *run.backward)) shown.push_back(std::move(part));
      continue;
    }
    shown.push_back(walk_step(walk, step));
    add_variants_to(work, run, step, shown.back());
    // After the last attention, where all heads have been met.
    if (step == Step::mask || (step == Step::attention && !work.request.shows(Step::mask))) {
      shown.push_back(heads_step(walk, run.heads));
    }
  }
  return shown;
}

}  // namespace headlight::narrate
