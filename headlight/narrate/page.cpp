// Puts the page's parts and the walk's data together.
#include "headlight/narrate/page.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "headlight/io/io.h"
#include "headlight/narrate/page_document.h"
#include "headlight/narrate/page_values.h"
#include "headlight/narrate/steps.h"
#include "headlight/narrate/trace_with_steps.h"
#include "headlight/narrate/walk.h"

namespace headlight::narrate {
namespace {

using explain::Trace;
using explain::TracedTensor;
using io::Json;
using tensor::Tensor;

constexpr int64_t kMostWithVariants = int64_t{1} << 16;

Json targets_json(const explain::Input& input) {
  Json::Array list;
  const Tensor& targets = input.batch.targets;
  for (size_t i = 0; i < input.tokens.size(); ++i) {
    list.emplace_back(targets.defined() ? targets.data<int64_t>()[i] : int64_t{-1});
  }
  return list;
}

// [[[id, probability], ...], ...]: the likeliest words of each row, the right one among them where
// it is known. A page need not hold all probabilities for that.
Json likeliest_json(const Trace& trace) {
  constexpr size_t kMost = 5;
  Json::Array rows;
  if (trace.find("probabilities") == nullptr) return rows;
  const Tensor values = trace.values("probabilities").contiguous();
  const Tensor& targets = trace.input().batch.targets;
  const int64_t width = values.size(-1);
  for (int64_t row = 0; row < values.elements() / width; ++row) {
    const float* shares = values.data<float>() + row * width;
    std::vector<int64_t> ids = likeliest(shares, width, kMost);
    const int64_t right = targets.defined() ? targets.data<int64_t>()[row] : -1;
    if (right >= 0 && std::ranges::find(ids, right) == ids.end()) ids.back() = right;
    Json::Array& words = *rows.emplace_back(Json::Array()).array();
    for (const int64_t id : ids)
      words.emplace_back(Json::Array{id, static_cast<double>(shares[id])});
  }
  return rows;
}

template <typename T>
Json list_json(const std::vector<T>& items, Json (*one)(const T&)) {
  Json::Array list;
  for (const T& item : items) list.emplace_back(one(item));
  return list;
}

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

Json sentence_json(const recipes::SentencePair& pair) {
  return Json::Object{{"source", pair.source}, {"target", pair.target}};
}

// Where texts disagree; of a large model all would be too much to read.
std::vector<explain::Variant> variants_of(Trace& trace, const models::Model& model,
                                          const std::set<std::string>& asked) {
  int64_t numbers = 0;
  for (const TracedTensor& tensor : trace.tensors()) numbers += tensor.shape.elements();
  if (numbers <= kMostWithVariants) return explain::add_variants(trace, model);
  if (asked.empty()) return {};
  return explain::add_variants(trace, model, asked);
}

// What the page asks of tensors besides: a step that shows them again, the row that they share with
// others of their place, whether they are what heads look at, and what they pass on unchanged.
void add_page_members(const Trace& trace, const PassedOn& passed, Json& described) {
  for (Json::Member& member : *described.object()) {
    if (member.first != "tensors") continue;
    for (Json& json : *member.second.array()) {
      const TracedTensor& tensor = trace.at(*json.find("name")->text());
      if (tensor.shows_mask && tensor.variant.empty())
        json.object()->emplace_back("also_step", number_of(Step::mask));
      if (tensor.row != 0) json.object()->emplace_back("row", tensor.row);
      if (tensor.is_attention) json.object()->emplace_back("attention", true);
      const auto same = passed.find(tensor.name);
      if (same != passed.end()) json.object()->emplace_back("same_as", same->second);
    }
  }
}

// The list of steps, so that the page knows none of its own.
Json page_steps() {
  Json::Array list;
  for (const Step step : all_steps()) {
    Json::Object& one = *list.emplace_back(Json::Object{}).object();
    one = {{"name", name_of(step)}, {"number", number_of(step)}};
    const auto slips = slips_of(step);
    if (!slips.empty()) one.emplace_back("slips", Json::Array(slips.begin(), slips.end()));
    if (!closing_of(step).empty()) one.emplace_back("closing", closing_of(step));
    // After the step in which heads are met.
    if (step == Step::attention) one.emplace_back("heads", true);
  }
  return list;
}

}  // namespace

void Page::add(Trace& trace, const models::Model& model, const PageRun& run) {
  vocabulary_ = trace.input().vocabulary;
  const std::vector<explain::Variant> variants = variants_of(trace, model, options_.variants);
  content_.add(trace);
  for (const explain::Variant& variant : variants) content_.formulas.insert(variant.formula);
  const PassedOn passed = passed_on(trace);
  Json described = trace_json_with_steps(trace);
  add_page_members(trace, passed, described);
  Json::Object& members = *described.object();
  members.emplace_back("key", run.key);
  members.emplace_back("targets", targets_json(trace.input()));
  members.emplace_back("written", trace.input().written);
  Json& words = members.emplace_back("likeliest", likeliest_json(trace)).second;
  for (const Json& row : *words.array()) {
    for (const Json& word : *row.array()) used_words_.insert(*word.array()->front().integer());
  }
  members.emplace_back("heads", list_json(run.heads, heads::head_json));
  Json::Array& told = *members.emplace_back("variants", Json::Array()).second.array();
  for (const explain::Variant& variant : variants) {
    told.push_back(variant_json_with_step(trace, variant));
  }
  members.emplace_back("continuation", run.continuation);
  members.emplace_back("weight_is_asked", run.weight_is_asked);
  runs_.push_back(with_members(described, {{"values", page_values(trace, passed)},
                                           {"backward", backward_text(trace, run.backward)}}));
}

std::string Page::data() const {
  // Of a large vocabulary its beginning, and the words that the runs speak of.
  constexpr size_t kMostWords = 4096;
  constexpr std::ptrdiff_t kBeginning = 200;
  const auto size = std::ssize(vocabulary_);
  const std::ptrdiff_t listed = vocabulary_.size() <= kMostWords ? size : kBeginning;
  Json::Object labels;
  for (const int64_t id : used_words_) {
    if (id < listed || id >= size) continue;
    labels.emplace_back(std::to_string(id), vocabulary_[static_cast<size_t>(id)]);
  }
  std::string runs = "[";
  for (const std::string& run : runs_) runs.append(runs.size() > 1 ? "," : "").append(run);
  return with_members(
      Json::Object{{"language", options_.language},
                   {"version", HEADLIGHT_VERSION},
                   {"source", options_.text},
                   {"sentences", list_json(options_.sentences, sentence_json)},
                   {"asked", Json::Array(options_.variants.begin(), options_.variants.end())},
                   {"vocabulary_size", vocabulary_.size()},
                   {"vocabulary", Json::Array(vocabulary_.begin(), vocabulary_.begin() + listed)},
                   {"labels", std::move(labels)},
                   {"place", options_.place},
                   {"command", options_.command},
                   {"losses", Json::Array(options_.losses.begin(), options_.losses.end())},
                   {"steps", page_steps()},
                   {"operations", explain::operations_json(content_.operations)},
                   {"texts", page_texts(content_, PageKind::walk)}},
      {{"runs", runs + "]"}});
}

void Page::write(base::Output& output) const { write_page(output, data()); }

}  // namespace headlight::narrate
