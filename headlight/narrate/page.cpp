// Puts the page's parts and the walk's data together.
#include "headlight/narrate/page.h"

#include <utility>

#include "headlight/io/io.h"
#include "headlight/narrate/page_document.h"
#include "headlight/narrate/page_values.h"
#include "headlight/narrate/run_document.h"

namespace headlight::narrate {
namespace {

using explain::Trace;
using io::Json;

// With p - y and the gradients in numbers.
std::string backward_text(const Trace& trace, const explain::BackwardWalk* found) {
  if (found == nullptr) return "null";
  const explain::BackwardWalk& walk = *found;
  std::string gradients = "{";
  for (const explain::TensorGradient& gradient : walk.gradients) {
    if (gradient.values.shape().elements() > kMostOnPage) continue;
    if (gradients.size() > 1) gradients += ',';
    gradients += io::json_text(Json(gradient.name)) + ":" + page_numbers(gradient.values);
  }
  return with_members(explain::backward_json(trace, walk),
                      {{"error", page_numbers(walk.error)}, {"gradient_values", gradients + "}"}});
}

}  // namespace

void Page::add(Trace& trace, const models::Model& model, const PageRun& run) {
  vocabulary_ = trace.input().vocabulary;
  const RunDocument document = run_document(trace, model, run, options_.variants);
  content_.add(trace);
  content_.formulas.insert(document.formulas.begin(), document.formulas.end());
  used_words_.insert(document.words.begin(), document.words.end());
  runs_.push_back(
      with_members(document.described, {{"values", page_values(trace, document.passed)},
                                        {"backward", backward_text(trace, run.backward)}}));
}

std::string Page::data() const {
  std::string runs = "[";
  for (const std::string& run : runs_) runs.append(runs.size() > 1 ? "," : "").append(run);
  Json::Object document = walk_document(options_, content_, vocabulary_, used_words_);
  document.emplace_back("texts", page_texts(content_, PageKind::walk));
  return with_members(std::move(document), {{"runs", runs + "]"}});
}

void Page::write(base::Output& output) const { write_page(output, data()); }

}  // namespace headlight::narrate
