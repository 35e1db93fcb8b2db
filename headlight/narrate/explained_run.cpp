// Tracing, measuring, and the way back.
#include "headlight/narrate/explained_run.h"

#include <algorithm>
#include <utility>

#include "headlight/narrate/page_values.h"
#include "headlight/narrate/walk.h"

namespace headlight::narrate {
namespace {

using base::Error;
using base::ErrorKind;
using explain::Trace;

double loss_of(const ExplainWork& work) {
  tensor::Arena arena;
  autograd::Context context{.threads = work.threads, .arena = arena};
  const models::Model& model = work.subject.model();
  return static_cast<double>(model.loss(context, work.subject.input.batch).item());
}

bool names_variant(const ExplainRequest& request) {
  constexpr std::string_view kVariant = "variant.";
  return (request.cell && request.cell->starts_with(kVariant)) ||
         std::ranges::any_of(request.names,
                             [&](const std::string& name) { return name.starts_with(kVariant); });
}

// Answers and files have the variants that are asked for; a walk tells of all. A page adds its own.
std::vector<explain::Variant> wanted_variants(const ExplainWork& work, Trace& trace) {
  const ExplainRequest& request = work.request;
  if (request.format == ExplainFormat::html) return {};
  const bool by_name = names_variant(request);
  const bool of_itself = work.subject.worked && !request.answers_cell();
  if (!of_itself && !by_name && request.variants.empty()) return {};
  const bool walks = request.format != ExplainFormat::safetensors && !request.answers_cell() &&
                     request.names.empty();
  return explain::add_variants(trace, work.subject.model(),
                               walks || by_name ? std::set<std::string>() : request.variants);
}

// "--scale none" of "scale.none".
std::string option_text(const std::string& key) {
  const size_t dot = key.find('.');
  return "--" + key.substr(0, dot) + " " + key.substr(dot + 1);
}

void check_layers(const ExplainWork& work) {
  const int64_t count = model_layer_count(work.subject.model());
  for (const int64_t layer : work.request.layers) {
    if (layer < count) continue;
    throw Error(ErrorKind::bad_input, "explain", "layer " + std::to_string(layer),
                "the model has the layers 0 to " + std::to_string(count - 1));
  }
}

// A page shows learning without being asked where that costs little.
bool walks_back(const ExplainWork& work, const Trace& trace) {
  if (work.request.backward) return true;
  if (work.request.skips_backward || work.subject.shared != nullptr) return false;
  const models::Model& model = work.subject.model();
  if (work.request.format != ExplainFormat::html || !work.request.layers.empty()) return false;
  const models::Capabilities can = model.capabilities();
  if (!model.has_logits() || !(can.translates || can.continues_prompt)) return false;
  return work.subject.input.batch.targets.defined() && is_whole_on_page(trace);
}

// Of all heads.
int64_t weight_count(const Trace& trace) {
  int64_t count = 0;
  for (const explain::TracedTensor& tensor : trace.tensors()) {
    if (tensor.is_attention && tensor.variant.empty()) count += tensor.shape.elements();
  }
  return count;
}

}  // namespace

int64_t model_layer_count(const models::Model& model) {
  const models::Parts parts = model.parts();
  const nn::TransformerStack* layers = parts.decoder != nullptr ? parts.decoder : parts.encoder;
  return static_cast<int64_t>(layers->blocks().size());
}

int64_t tokens_written(const ExplainWork& work) {
  constexpr int64_t kAfterSource = 23;  // with <start>, as many rows as a table has at most
  constexpr int64_t kAfterPrompt = 8;
  const models::Capabilities can = work.subject.model().capabilities();
  if (work.subject.given.target || !(can.translates || can.continues_prompt)) return 0;
  if (work.request.continues) return *work.request.continues;
  if (work.request.format != ExplainFormat::html) return 0;
  return can.translates ? kAfterSource : kAfterPrompt;
}

std::set<int64_t> layers_traced(const ExplainWork& work) {
  constexpr int64_t kReadable = 2;
  if (!work.request.layers.empty()) return work.request.layers;
  const bool for_people = work.request.format == ExplainFormat::text && !work.request.cell &&
                          work.request.names.empty();
  if (!for_people || model_layer_count(work.subject.model()) <= kReadable || work.request.backward)
    return {};
  return {0};
}

// What a walk or a file holds at once. A page and JSON take one after the other.
void check_shown_memory(const ExplainWork& work, const Trace& trace) {
  const bool holds_all = work.request.format == ExplainFormat::text ||
                         work.request.format == ExplainFormat::safetensors;
  if (work.request.answers_cell() || !holds_all) return;
  double numbers = 0;
  const auto count = [&](const explain::TracedTensor& tensor) {
    numbers += static_cast<double>(tensor.shape.elements());
  };
  for (const std::string& name : work.request.names) {
    count(trace.at(explain::parse_tensor(trace, name).name));
  }
  if (work.request.names.empty()) {
    for (const explain::TracedTensor& tensor : trace.tensors()) {
      if (!explain::is_left_out(tensor)) count(tensor);
    }
  }
  base::check_memory(work.files, numbers * sizeof(float), "explain", work.subject.name,
                     "; --layers takes fewer layers");
}

ExplainedRun explain_run(ExplainWork& work, const recipes::WorkedTraining* training) {
  const models::Model& model = work.subject.model();
  check_layers(work);
  if (const int64_t most = tokens_written(work); most > 0) {
    work.subject.write_on(work.threads, most, work.go_on);
  }
  const explain::TraceOptions options{.layers = layers_traced(work), .go_on = work.go_on};
  ExplainedRun run{explain::trace_model(work.threads, model, work.subject.input, options), {}, {}};
  run.variants = wanted_variants(work, run.trace);
  check_shown_memory(work, run.trace);
  // A page shows the heads around the cell that it opens at.
  const bool is_page = work.request.format == ExplainFormat::html;
  const bool is_file = work.request.format == ExplainFormat::safetensors;
  if (is_page || (!is_file && !work.request.answers_cell())) {
    if (weight_count(run.trace) <= work.request.most_weights) run.heads = heads_of(run.trace);
  }
  if (work.request.answers_cell()) return run;
  if (work.go_on) work.go_on();
  run.continuation = work.subject.continuation(work.threads);
  if (work.subject.input.batch.targets.defined() && model.has_logits()) run.loss = loss_of(work);
  if (walks_back(work, run.trace)) {
    if (work.go_on) work.go_on();
    const std::optional<std::string> weight =
        work.request.backward ? work.request.cell : std::nullopt;
    run.backward = walk_to_weight(run.trace, work.subject.changeable_model(), weight, training);
  }
  return run;
}

std::vector<std::string> asked_forms(const ExplainWork& work, const ExplainedRun& run,
                                     const std::string& tensor) {
  std::vector<std::string> forms;
  for (const std::string& key : work.request.variants) {
    const std::string form = "variant." + key + "." + tensor;
    if (run.trace.find(form) != nullptr) forms.push_back(form);
  }
  return forms;
}

void refuse_unchanged(const ExplainWork& work, const ExplainedRun& run, const std::string& tensor) {
  std::vector<std::string> changed;
  std::string options;
  for (const explain::Variant& variant : run.variants) {
    if (variant.is_own || !work.request.variants.contains(variant.key)) continue;
    const std::string option = option_text(variant.key);
    if (options.find(option) == std::string::npos) options += (options.empty() ? "" : " ") + option;
    for (const std::string& form : variant.tensors) {
      changed.push_back(form.substr(std::string("variant." + variant.key + ".").size()));
    }
  }
  if (changed.empty() || tensor.starts_with("variant.")) return;
  const std::vector<std::string_view> names(changed.begin(), changed.end());
  const auto near = base::nearest(tensor, names);
  throw Error(ErrorKind::bad_input, "explain", tensor,
              options + " leaves it as it is; " +
                  (near ? "the nearest that it changes is " : "it changes ") +
                  std::string(near.value_or(names.front())));
}

explain::CellReference asked_cell(const ExplainWork& work, const ExplainedRun& run) {
  explain::CellReference cell = explain::parse_cell(run.trace, *work.request.cell);
  const std::vector<std::string> forms = asked_forms(work, run, cell.name);
  if (forms.size() > 1) {
    throw Error(ErrorKind::bad_input, "explain", cell.name,
                "--scale and --norm both change it: give one of them");
  }
  if (forms.empty()) {
    refuse_unchanged(work, run, cell.name);
  } else {
    cell.name = forms.front();
  }
  return cell;
}

}  // namespace headlight::narrate
