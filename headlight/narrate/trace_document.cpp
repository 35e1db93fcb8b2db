// Runs kept, and their document.
#include "headlight/narrate/trace_document.h"

#include <utility>

#include "headlight/narrate/run_document.h"

namespace headlight::narrate {
namespace {

using io::Json;

constexpr std::string_view kErrorName = "error";
constexpr std::string_view kGradientOf = "gradient.";

uint64_t bytes_of(const models::Model& model) {
  uint64_t sum = 0;
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    sum += static_cast<uint64_t>(parameter->shape().elements()) * sizeof(float);
  }
  return sum;
}

// What a trace keeps of each row: some twenty vectors of a layer, logits and probabilities.
void check_trace_memory(base::FileSystem& files, const Subject& subject) {
  constexpr double kVectors = 20;
  const models::Model& model = subject.model();
  const models::Batch& batch = subject.input.batch;
  const models::Parts parts = model.parts();
  const auto layers = [](const nn::TransformerStack* stack) {
    return stack == nullptr ? 0.0 : static_cast<double>(stack->blocks().size());
  };
  const auto tokens = static_cast<double>(batch.ids.elements());
  const auto source = static_cast<double>(batch.source_ids.defined() ? batch.source_ids.elements()
                                                                     : batch.ids.elements());
  const double vectors = layers(parts.decoder) * tokens + layers(parts.encoder) * source;
  const double numbers =
      kVectors * vectors * static_cast<double>(model.hidden_width()) +
      (model.has_logits() ? 2 * tokens * static_cast<double>(model.vocab_size()) : 0);
  base::check_memory(files, numbers * sizeof(float), "trace", subject.name,
                     "; fewer layers or a shorter text need less");
}

}  // namespace

Json letters_json(const tensor::Tensor& floats) {
  const std::string quoted = page_numbers(floats);
  return Json(quoted.substr(1, quoted.size() - 2));
}

TraceDocument::TraceDocument(base::ThreadPool& threads, base::FileSystem& files,
                             ExplainRequest request, const MakeSubject& make,
                             const std::function<bool()>& stops)
    : request_(std::move(request)) {
  request_.format = ExplainFormat::html;
  const auto go_on = [&] {
    if (stops && stops()) {
      throw base::Error(base::ErrorKind::failed, "trace", "", "nobody waits for it any more");
    }
  };
  const auto work = [&] {
    return ExplainWork{threads,        files, request_, Catalogue::of(request_.language),
                       make(request_), go_on};
  };
  add_run(work(), false);
  if (request_.train && subject(0).worked) add_run(work(), true);
  go_on();
  write_document();
}

void TraceDocument::add_run(ExplainWork work, bool trains) {
  check_trace_memory(work.files, work.subject);
  if (trains) {
    training_ = recipes::train_worked_model(work.threads, *work.subject.worked,
                                            [&](int64_t, double) { work.go_on(); });
  }
  ExplainedRun explained = explain_run(work, trains ? &training_ : nullptr);
  work.go_on = {};  // what waits for it is gone when it is asked later
  runs_.push_back(std::make_unique<KeptRun>(KeptRun{std::move(work), std::move(explained)}));
}

PageOptions TraceDocument::page_options(std::string language) const {
  const Subject& last = runs_.back()->work.subject;
  const bool is_typed = request_.pairs.empty() && !request_.weights_bytes;
  PageOptions options{.language = std::move(language),
                      .text = last.text,
                      .sentences = last.sentences(),
                      .variants = request_.variants,
                      .losses = training_.losses};
  if (is_typed) options.command = explain_command(request_, tokens_written(runs_.back()->work));
  return options;
}

PageRun TraceDocument::page_run(size_t number) const {
  const ExplainedRun& run = runs_[number]->explained;
  const bool is_trained = runs_.size() > 1;
  return {.key = !is_trained   ? ""
                 : number == 0 ? "message.before_training"
                               : "message.after_training",
          .continuation = run.continuation.value_or(""),
          .heads = run.heads,
          .backward = run.backward ? &*run.backward : nullptr,
          .weight_is_asked = request_.backward && request_.cell,
          .loss = run.loss,
          .tokenizer = runs_[number]->work.subject.tokenizer()};
}

void TraceDocument::write_document() {
  PageContent content;
  std::set<int64_t> words;
  Json::Array runs;
  for (size_t i = 0; i < runs_.size(); ++i) {
    ExplainedRun& run = runs_[i]->explained;
    RunDocument described =
        run_document(run.trace, runs_[i]->work.subject.model(), page_run(i), request_.variants);
    content.add(run.trace);
    words.insert(described.words.begin(), described.words.end());
    described.described.object()->emplace_back(
        "backward", run.backward ? explain::backward_json(run.trace, *run.backward) : Json());
    runs.push_back(std::move(described.described));
  }
  Json::Object document = walk_document(page_options(request_.language), content,
                                        runs_.back()->explained.trace.input().vocabulary, words);
  const Subject& last = runs_.back()->work.subject;
  document.emplace_back("target", last.target ? Json(*last.target) : Json());
  document.emplace_back("training", runs_.size() > 1
                                        ? Json(Json::Object{{"steps", training_.steps},
                                                            {"seconds", training_.seconds}})
                                        : Json());
  document.emplace_back("runs", std::move(runs));
  document_ = std::move(document);
}

void TraceDocument::write_page(base::Output& output, std::string_view language) {
  Page page(page_options(std::string(language)));
  for (size_t i = 0; i < runs_.size(); ++i) {
    page.add(runs_[i]->explained.trace, runs_[i]->work.subject.model(), page_run(i));
  }
  page.write(output);
}

tensor::Tensor TraceDocument::gradient(size_t run, const std::string& name) const {
  const auto& backward = runs_[run]->explained.backward;
  if (!backward) return {};
  if (name == kErrorName) return backward->error;
  for (const explain::TensorGradient& one : backward->gradients) {
    if (name.size() == kGradientOf.size() + one.name.size() && name.starts_with(kGradientOf) &&
        name.ends_with(one.name)) {
      return one.values;
    }
  }
  return {};
}

explain::Tile TraceDocument::tile(size_t run, const std::string& name,
                                  const explain::TileRequest& request) const {
  const tensor::Tensor found = gradient(run, name);
  return found.defined() ? explain::tile_of(name, found, request)
                         : explain::tile_of(trace(run), name, request);
}

std::vector<int64_t> TraceDocument::shape_of(size_t run, const std::string& name) const {
  const tensor::Tensor found = gradient(run, name);
  if (!found.defined()) return explain::shape_of(trace(run), name);
  return {found.shape().sizes().begin(), found.shape().sizes().end()};
}

uint64_t TraceDocument::bytes() const {
  uint64_t sum = 0;
  for (const auto& run : runs_) {
    sum += run->explained.trace.bytes();
    if (run->work.subject.shared == nullptr) sum += bytes_of(run->work.subject.model());
    if (!run->explained.backward) continue;
    for (const explain::TensorGradient& one : run->explained.backward->gradients) {
      sum += one.values.bytes();
    }
  }
  return sum;
}

}  // namespace headlight::narrate
