// Steps in words and numbers, and the same as data.
#include "apps/cli/explain_report.h"

#include <algorithm>
#include <set>
#include <utility>

#include "apps/cli/walk.h"

namespace headlight::cli {
namespace {

using explain::Catalogue;
using explain::Trace;

Walk walk_of(const Explaining& work, const Explained& run) {
  return {.catalogue = work.catalogue,
          .trace = run.trace,
          .sentences = work.subject.sentences(),
          .vocabulary_size = work.subject.tokenizer().size(),
          .says = run.says,
          .loss = run.loss,
          .with_numbers = work.options.format != ExplainFormat::json};
}

// Which group of variants a step has, and how each compares.
void add_variants_to(const Explaining& work, const Explained& run, ShownStep& step) {
  std::set<std::string> groups;
  for (const explain::Variant& variant : run.variants) {
    const std::string group = variant.key.substr(0, variant.key.find('.'));
    const bool is_asked = work.options.variants.contains(variant.key);
    if (variant.step != step.number) continue;
    if (is_asked && !variant.is_own) {
      for (const std::string& name : variant.tensors) {
        step.arrays.push_back(shown_tensor(run.trace, work.catalogue, run.trace.at(name)));
      }
    }
    if (!groups.insert(group).second) continue;
    step.afterwards.push_back(work.catalogue.text("variant." + group));
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
    step.afterwards.push_back(lines + ".");
  }
  if (step.number == 11 && !step.arrays.empty()) {
    step.afterwards.push_back(work.catalogue.text("variant.cross_values"));
  }
}

// A parameter belongs to the step in which it is first used.
int step_of(const Trace& trace, const explain::TracedTensor& tensor) {
  if (tensor.operation != explain::Operation::parameter) return tensor.step;
  const auto uses = [&](const explain::TracedTensor& other) {
    return std::ranges::any_of(other.operands, [&](const explain::Operand& operand) {
      return operand.name == tensor.name;
    });
  };
  return std::ranges::find_if(trace.tensors(), uses)->step;
}

// Tensors by name, each followed by what becomes of it in the variants asked for.
std::vector<ShownStep> named_steps(const Explaining& work, const Explained& run) {
  std::vector<ShownStep> steps;
  bool changed = false;
  for (const std::string& name : work.options.names) {
    const explain::TensorSelection selection = explain::parse_tensor(run.trace, name);
    const explain::TracedTensor& tensor = run.trace.at(selection.name);
    ShownStep& step = steps.emplace_back(
        ShownStep{.number = step_of(run.trace, tensor), .title = work.catalogue.title(tensor)});
    std::vector<std::string> forms = asked_forms(work, run, selection.name);
    changed = changed || !forms.empty();
    forms.insert(forms.begin(), selection.name);
    for (const std::string& form : forms) {
      step.arrays.push_back(
          shown_tensor(run.trace, work.catalogue, run.trace.at(form), selection.head));
    }
  }
  if (!changed) {
    refuse_unchanged(work, run, explain::parse_tensor(run.trace, work.options.names.front()).name);
  }
  return steps;
}

std::vector<ShownStep> steps_of(const Explaining& work, const Explained& run) {
  const Walk walk = walk_of(work, run);
  std::vector<ShownStep> steps;
  if (work.options.answers_cell()) {
    const auto cell = explain::explain_cell(run.trace, asked_cell(work, run));
    steps.push_back(cell_step(walk, cell));
    return steps;
  }
  if (!work.options.names.empty()) return named_steps(work, run);
  for (int number = 1; number <= kSteps; ++number) {
    if (!work.options.shows(number)) continue;
    if (number == kSteps && run.backward) {
      for (ShownStep& step : backward_steps(walk, *run.backward)) steps.push_back(std::move(step));
      continue;
    }
    steps.push_back(walk_step(walk, number));
    add_variants_to(work, run, steps.back());
    // After the last attention, where all heads have been met.
    if (number == 12 || (number == 7 && !work.options.shows(12))) {
      steps.push_back(heads_step(walk, run.heads));
    }
  }
  return steps;
}

// What a file holds: all, or what is asked for.
std::vector<io::NamedTensor> file_tensors(const Explaining& work, const Explained& run) {
  const ExplainOptions& options = work.options;
  std::vector<io::NamedTensor> tensors;
  if (options.answers_cell()) {
    const std::string name = asked_cell(work, run).name;
    tensors.push_back({name, run.trace.values(name)});
  } else if (!options.names.empty()) {
    std::set<std::string> names;
    for (const ShownStep& step : named_steps(work, run)) {
      for (const ShownArray& array : step.arrays) {
        if (names.insert(array.name).second) tensors.push_back({array.name, array.numbers});
      }
    }
  } else {
    tensors = explain::trace_tensors(run.trace);
    std::erase_if(tensors, [&](const io::NamedTensor& tensor) {
      return !options.steps.empty() &&
             !options.shows(step_of(run.trace, run.trace.at(tensor.name)));
    });
  }
  return tensors;
}

// Where a page opens, as its links say it: "cell=encoder.0.self.head.0.scores[3,5]".
std::string place_on_page(const ExplainOptions& options, const Trace& trace) {
  if (options.answers_cell()) {
    explain::parse_cell(trace, *options.cell);
    return "cell=" + *options.cell;
  }
  if (!options.names.empty())
    return "tensor=" + explain::parse_tensor(trace, options.names.front()).name;
  return options.steps.empty() ? "" : "at=step-" + std::to_string(*options.steps.begin());
}

std::string introduction(const Explaining& work) {
  const Catalogue& catalogue = work.catalogue;
  const Terminal terminal = terminal_of_output();
  const recipes::WorkedModelOptions& worked = work.options.worked;
  std::string text = work.subject.worked
                         ? catalogue.text("message.worked_model",
                                          {{"width", std::to_string(worked.width)},
                                           {"heads", std::to_string(worked.heads)},
                                           {"head_width", std::to_string(worked.head_width)},
                                           {"seed", std::to_string(worked.seed)}})
                         : catalogue.text("message.model", {{"model", work.subject.name}});
  text = wrapped(text, terminal.width);
  text += wrapped(catalogue.text("message.text", {{"text", work.subject.text}}), terminal.width);
  if (work.subject.target) {
    text += wrapped(catalogue.text("message.target", {{"target", *work.subject.target}}),
                    terminal.width);
  }
  const std::set<int64_t> layers = layers_shown(work);
  if (!layers.empty()) {
    text += wrapped(catalogue.text("message.more_layers",
                                   {{"layer", std::to_string(*layers.begin())},
                                    {"layers", std::to_string(layer_count(work.subject.model()))}}),
                    terminal.width);
  }
  return text + "\n";
}

std::string text_of(const Explaining& work, const Explained& run) {
  const Terminal terminal = terminal_of_output();
  std::string text;
  for (const ShownStep& step : steps_of(work, run)) {
    const bool is_step = step.number > 0 && !work.options.cell && work.options.names.empty();
    const std::string heading =
        is_step ? work.catalogue.text("message.step_of", {{"step", std::to_string(step.number)}}) +
                      ": " + step.title
                : step.title;
    text += step_text(terminal, work.catalogue, heading, step);
  }
  if (!work.options.cell) text += wrapped(work.catalogue.text("message.whole"), terminal.width);
  return text;
}

// The size up to which tensors are written as JSON: the small ones, as many as there are numbers
// for. A file of tensors holds all.
int64_t largest_written(const Trace& trace) {
  constexpr int64_t kMostNumbers = 4'000'000;
  std::vector<int64_t> sizes;
  for (const auto* tensors : {&trace.tensors(), &trace.parameters()}) {
    for (const explain::TracedTensor& tensor : *tensors) sizes.push_back(tensor.shape.elements());
  }
  std::ranges::sort(sizes);
  int64_t sum = 0;
  for (const int64_t size : sizes) {
    if (size > kMostNumbers - sum) return size - 1;
    sum += size;
  }
  return kMostNumbers;
}

io::Json with_values(const Trace& trace) {
  const int64_t most = largest_written(trace);
  io::Json document = explain::trace_json(trace);
  for (io::Json::Member& member : *document.object()) {
    if (member.first != "tensors" && member.first != "parameters") continue;
    for (io::Json& tensor : *member.second.array()) {
      const std::string& name = *tensor.find("name")->text();
      if (trace.at(name).shape.elements() > most) continue;
      tensor.object()->emplace_back("values", array_json(trace.values(name)));
    }
  }
  return document;
}

io::Json json_of(const Explaining& work, const Explained& run) {
  if (work.options.answers_cell()) {
    return explain::cell_json(run.trace, explain::explain_cell(run.trace, asked_cell(work, run)));
  }
  io::Json::Array heads, variants;
  for (const auto& head : run.heads) heads.push_back(explain::head_json(head));
  for (const auto& variant : run.variants) variants.push_back(explain::variant_json(variant));
  io::Json::Object document = {
      {"model", work.subject.worked ? io::Json("worked") : io::Json(work.subject.name)},
      {"text", work.subject.text},
      {"target", work.subject.target ? io::Json(*work.subject.target) : io::Json()},
      {"says", run.says ? io::Json(*run.says) : io::Json()},
      {"loss", run.loss ? io::Json(*run.loss) : io::Json()},
      {"steps", steps_json(steps_of(work, run), 0)},
      {"trace", with_values(run.trace)},
      {"heads", std::move(heads)},
      {"variants", std::move(variants)}};
  if (run.backward) {
    document.emplace_back("backward", explain::backward_json(run.trace, *run.backward));
  }
  return document;
}

}  // namespace

Report::Report(const Explaining& work)
    : work_(work),
      page_({.language = work.options.language,
             .text = work.subject.text,
             .sentences = work.subject.sentences(),
             .variants = work.options.variants,
             .version = HEADLIGHT_VERSION}) {}

void Report::add(Explained run, const char* heading, const recipes::WorkedTraining* training) {
  switch (work_.options.format) {
    case ExplainFormat::text:
      if (text_.empty()) text_ = introduction(work_);
      if (heading != nullptr) text_ += "== " + work_.catalogue.text(heading) + " ==\n\n";
      text_ += text_of(work_, run);
      return;
    case ExplainFormat::json:
      if (training != nullptr) before_ = std::move(document_);
      document_ = json_of(work_, run);
      return;
    case ExplainFormat::html:
      page_.add(run.trace, work_.subject.model(),
                {.key = heading == nullptr ? "" : heading,
                 .continuation = run.says.value_or(""),
                 .backward = run.backward ? &*run.backward : nullptr});
      page_.open_at(place_on_page(work_.options, run.trace));
      if (training != nullptr) page_.set_losses(training->losses);
      return;
    case ExplainFormat::safetensors:
      explain::write_trace(work_.session.files, *work_.options.out, run.trace,
                           file_tensors(work_, run));
      return;
  }
}

void Report::tell_training(const recipes::WorkedTraining& training) {
  const Catalogue& catalogue = work_.catalogue;
  text_ += wrapped(catalogue.text("message.trained",
                                  {{"steps", std::to_string(training.steps)},
                                   {"seconds", catalogue.number(training.seconds, 2)},
                                   {"before", catalogue.number(training.losses.front(), 4)},
                                   {"after", catalogue.number(training.losses.back(), 4)}}),
                   terminal_of_output().width) +
           "\n";
  io::Json::Array losses(training.losses.begin(), training.losses.end());
  training_ = io::Json::Object{
      {"steps", training.steps}, {"seconds", training.seconds}, {"losses", std::move(losses)}};
}

void Report::write(base::Output& output) {
  if (work_.options.format == ExplainFormat::html) return page_.write(output);
  if (work_.options.format == ExplainFormat::text) return output.write(text_);
  if (!training_.is_null()) {
    document_.object()->emplace_back("training", std::move(training_));
    document_.object()->emplace_back("before", std::move(before_));
  }
  output.write(io::json_text(document_) + "\n");
}

}  // namespace headlight::cli
