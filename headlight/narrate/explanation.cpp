// Steps in words and numbers, and the same as data.
#include "headlight/narrate/explanation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "headlight/narrate/asked_steps.h"
#include "headlight/narrate/trace_with_steps.h"
#include "headlight/narrate/walk.h"

namespace headlight::narrate {
namespace {

using explain::Trace;

bool shows_use(const ExplainRequest& request, const Trace& trace, const std::string& name) {
  const std::optional<Step> step = step_of_use(trace, trace.at(name));
  return step && request.shows(*step);
}

// What a file holds: all, or what is asked for.
std::vector<io::NamedTensor> file_tensors(const ExplainWork& work, const ExplainedRun& run) {
  const ExplainRequest& request = work.request;
  std::vector<io::NamedTensor> tensors;
  if (request.answers_cell()) {
    const std::string name = asked_cell(work, run).name;
    tensors.push_back({name, run.trace.values(name)});
  } else if (!request.names.empty()) {
    std::set<std::string> names;
    for (const ShownStep& step : named_steps(work, run)) {
      for (const ShownArray& array : step.arrays) {
        if (names.insert(array.name).second) tensors.push_back({array.name, array.numbers});
      }
    }
  } else {
    tensors = explain::trace_tensors(run.trace);
    std::erase_if(tensors, [&](const io::NamedTensor& tensor) {
      return !request.steps.empty() && !shows_use(request, run.trace, tensor.name);
    });
  }
  return tensors;
}

// "0, 2"
std::string layers_text(const std::set<int64_t>& layers) {
  std::string text;
  for (const int64_t layer : layers) text += (text.empty() ? "" : ", ") + std::to_string(layer);
  return text;
}

// Where a page opens, as its links say it: "cell=encoder.0.self.head.0.scores[3,5]".
std::string place_on_page(const ExplainRequest& request, const Trace& trace) {
  if (request.answers_cell()) {
    explain::parse_cell(trace, *request.cell);
    return "cell=" + *request.cell;
  }
  if (!request.names.empty())
    return "tensor=" + explain::parse_tensor(trace, request.names.front()).name;
  return request.steps.empty() ? ""
                               : "at=step-" + std::to_string(number_of(*request.steps.begin()));
}

std::string introduction(const ExplainWork& work) {
  const Catalogue& catalogue = work.catalogue;
  const int64_t width = work.request.style.width;
  const recipes::WorkedModelOptions& worked = work.request.worked;
  std::string text = work.subject.worked
                         ? catalogue.text("message.worked_model",
                                          {{"width", std::to_string(worked.width)},
                                           {"heads", std::to_string(worked.heads)},
                                           {"head_width", std::to_string(worked.head_width)},
                                           {"seed", std::to_string(worked.seed)}})
                         : catalogue.text("message.model", {{"model", work.subject.name}});
  text = wrapped(text, width);
  text += wrapped(catalogue.text("message.text", {{"text", work.subject.text}}), width);
  if (work.subject.target) {
    text += wrapped(catalogue.text("message.target", {{"target", *work.subject.target}}), width);
  }
  const std::set<int64_t> layers = layers_traced(work);
  if (!layers.empty()) {
    text += wrapped(
        catalogue.text("message.more_layers",
                       {{"layer", layers_text(layers)},
                        {"layers", std::to_string(model_layer_count(work.subject.model()))}}),
        width);
  }
  return text + "\n";
}

std::string text_of(const ExplainWork& work, const ExplainedRun& run) {
  std::string text;
  int before = 0;
  for (const ShownStep& step : asked_steps(work, run)) {
    const bool is_step = step.number > 0 && !work.request.cell && work.request.names.empty();
    const char* name = step.number == before ? "message.step_of_continued" : "message.step_of";
    const std::string heading =
        is_step ? work.catalogue.text(name, {{"step", std::to_string(step.number)},
                                             {"steps", std::to_string(kStepCount)}}) +
                      ": " + step.title
                : step.title;
    text += step_text(work.request.style, work.catalogue, heading, step);
    before = step.number;
  }
  if (!work.request.cell)
    text += wrapped(work.catalogue.text("message.whole"), work.request.style.width);
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
  io::Json document = trace_json_with_steps(trace);
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

io::Json json_of(const ExplainWork& work, const ExplainedRun& run) {
  if (work.request.answers_cell()) {
    return explain::cell_json(run.trace, explain::explain_cell(run.trace, asked_cell(work, run)));
  }
  io::Json::Array heads, variants;
  for (const auto& head : run.heads) heads.push_back(heads::head_json(head));
  for (const auto& variant : run.variants)
    variants.push_back(variant_json_with_step(run.trace, variant));
  io::Json::Object document = {
      {"model", work.subject.worked ? io::Json("worked") : io::Json(work.subject.name)},
      {"text", work.subject.text},
      {"target", work.subject.target ? io::Json(*work.subject.target) : io::Json()},
      {"says", run.continuation ? io::Json(*run.continuation) : io::Json()},
      {"loss", run.loss ? io::Json(*run.loss) : io::Json()},
      {"steps", steps_json(asked_steps(work, run), 0)},
      {"trace", with_values(run.trace)},
      {"heads", std::move(heads)},
      {"variants", std::move(variants)}};
  if (run.backward) {
    document.emplace_back("backward", explain::backward_json(run.trace, *run.backward));
  }
  return document;
}

}  // namespace

Explanation::Explanation(base::ThreadPool& threads, base::FileSystem& files,
                         const ExplainRequest& request)
    : Explanation(threads, files, request, make_subject(files, request)) {}

Explanation::Explanation(base::ThreadPool& threads, base::FileSystem& files,
                         const ExplainRequest& request, Subject subject)
    : work_{threads, files, request, Catalogue::of(request.language), std::move(subject)},
      page_({.language = request.language,
             .text = work_.subject.text,
             .sentences = work_.subject.sentences(),
             .variants = request.variants}) {
  if (!request.train || !work_.subject.worked) {
    add(explain_run(work_, nullptr), "", nullptr);
    return;
  }
  add(explain_run(work_, nullptr), "message.before_training", nullptr);
  const recipes::WorkedTraining training =
      recipes::train_worked_model(threads, *work_.subject.worked);
  text_ += wrapped(trained_text(work_.catalogue, training), request.style.width) + "\n";
  io::Json before = std::move(document_);
  add(explain_run(work_, &training), "message.after_training", &training);
  if (request.format == ExplainFormat::json) add_training(training, std::move(before));
}

void Explanation::add(ExplainedRun run, const std::string& heading,
                      const recipes::WorkedTraining* training) {
  switch (work_.request.format) {
    case ExplainFormat::text:
      if (text_.empty()) text_ = introduction(work_);
      if (!heading.empty()) text_ += "== " + work_.catalogue.text(heading) + " ==\n\n";
      text_ += text_of(work_, run);
      return;
    case ExplainFormat::json:
      document_ = json_of(work_, run);
      return;
    case ExplainFormat::html:
      page_.add(run.trace, work_.subject.model(),
                {.key = heading,
                 .continuation = run.continuation.value_or(""),
                 .heads = std::move(run.heads),
                 .backward = run.backward ? &*run.backward : nullptr,
                 .weight_is_asked = work_.request.backward && work_.request.cell,
                 .loss = run.loss,
                 .tokenizer = work_.subject.tokenizer()});
      page_.open_at(place_on_page(work_.request, run.trace));
      page_.set_command(explain_command(work_.request, tokens_written(work_)));
      if (training != nullptr) page_.set_losses(training->losses);
      return;
    case ExplainFormat::safetensors:
      tensors_ = file_tensors(work_, run);
      traced_.emplace(std::move(run.trace));
      return;
  }
}

void Explanation::add_training(const recipes::WorkedTraining& training, io::Json before) {
  io::Json::Array losses(training.losses.begin(), training.losses.end());
  document_.object()->emplace_back("training", io::Json::Object{{"steps", training.steps},
                                                                {"seconds", training.seconds},
                                                                {"losses", std::move(losses)}});
  document_.object()->emplace_back("before", std::move(before));
}

void Explanation::write(base::Output& output) const {
  switch (work_.request.format) {
    case ExplainFormat::text:
      return output.write(text_);
    case ExplainFormat::html:
      return page_.write(output);
    default:
      return output.write(io::json_text(document_) + "\n");
  }
}

void Explanation::write_tensors(const std::string& path) const {
  write_trace_with_steps(work_.files, path, *traced_, tensors_);
}

}  // namespace headlight::narrate
