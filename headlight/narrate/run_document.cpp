// Runs and what stands around them, as JSON.
#include "headlight/narrate/run_document.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "headlight/io/io.h"
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

// Which word each token belongs to; without a tokenizer each is its own.
Json words_json(const text::Tokenizer* tokenizer, const Tensor& ids) {
  Json::Array list;
  if (!ids.defined()) return list;
  const std::span<const int64_t> row(ids.data<int64_t>(), static_cast<size_t>(ids.elements()));
  if (tokenizer != nullptr) {
    const std::vector<int64_t> numbers = text::word_numbers(*tokenizer, row);
    return Json::Array(numbers.begin(), numbers.end());
  }
  for (size_t i = 0; i < row.size(); ++i) list.emplace_back(i);
  return list;
}

}  // namespace

RunDocument run_document(Trace& trace, const models::Model& model, const PageRun& run,
                         const std::set<std::string>& asked) {
  RunDocument document;
  const std::vector<explain::Variant> variants = variants_of(trace, model, asked);
  for (const explain::Variant& variant : variants) document.formulas.insert(variant.formula);
  document.passed = passed_on(trace);
  document.described = trace_json_with_steps(trace);
  add_page_members(trace, document.passed, document.described);
  Json::Object& members = *document.described.object();
  members.emplace_back("key", run.key);
  members.emplace_back("targets", targets_json(trace.input()));
  members.emplace_back("written", trace.input().written);
  Json& words = members.emplace_back("likeliest", likeliest_json(trace)).second;
  for (const Json& row : *words.array()) {
    for (const Json& word : *row.array()) document.words.insert(*word.array()->front().integer());
  }
  members.emplace_back("heads", list_json(run.heads, heads::head_json));
  Json::Array& told = *members.emplace_back("variants", Json::Array()).second.array();
  for (const explain::Variant& variant : variants) {
    told.push_back(variant_json_with_step(trace, variant));
  }
  members.emplace_back("continuation", run.continuation);
  members.emplace_back("weight_is_asked", run.weight_is_asked);
  members.emplace_back("loss", run.loss ? Json(*run.loss) : Json());
  members.emplace_back("words", words_json(run.tokenizer, trace.input().batch.ids));
  members.emplace_back("source_words", words_json(run.tokenizer, trace.input().batch.source_ids));
  return document;
}

Json::Object walk_document(const PageOptions& options, const PageContent& content,
                           const std::vector<std::string>& vocabulary,
                           const std::set<int64_t>& used_words) {
  constexpr size_t kMostWords = 4096;
  constexpr std::ptrdiff_t kBeginning = 200;
  const auto size = std::ssize(vocabulary);
  const std::ptrdiff_t listed = vocabulary.size() <= kMostWords ? size : kBeginning;
  Json::Object labels;
  for (const int64_t id : used_words) {
    if (id < listed || id >= size) continue;
    labels.emplace_back(std::to_string(id), vocabulary[static_cast<size_t>(id)]);
  }
  return {{"language", options.language},
          {"version", HEADLIGHT_VERSION},
          {"source", options.text},
          {"sentences", list_json(options.sentences, sentence_json)},
          {"asked", Json::Array(options.variants.begin(), options.variants.end())},
          {"vocabulary_size", vocabulary.size()},
          {"vocabulary", Json::Array(vocabulary.begin(), vocabulary.begin() + listed)},
          {"labels", std::move(labels)},
          {"place", options.place},
          {"command", options.command},
          {"losses", Json::Array(options.losses.begin(), options.losses.end())},
          {"steps", page_steps()},
          {"operations", explain::operations_json(content.operations)}};
}

}  // namespace headlight::narrate
