// Puts the page's parts and the walk's data together.
#include "headlight/narrate/page.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "headlight/io/io.h"
#include "headlight/narrate/languages.h"
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

// In the order in which they need each other.
constexpr std::array<std::string_view, 9> kScripts = {
    "texts.js", "formulas.js", "trace.js", "terms.js",    "matrix.js",
    "why.js",   "heads.js",    "cards.js", "learning.js",
};
constexpr std::array<std::string_view, 2> kStyles = {"page.css", "figures.css"};

std::string_view file(std::string_view path) {
  return std::ranges::find(page_files(), path, &base::EmbeddedFile::path)->bytes;
}

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

// Members of an object whose text is already there.
std::string with_members(
    const Json& object,
    std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  std::string text = io::json_text(object);
  text.pop_back();
  for (const auto& [name, value] : members) {
    text.append(text.size() > 1 ? ",\"" : "\"").append(name).append("\":").append(value);
  }
  return text + "}";
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

// Lessons and what only a terminal says are not shown.
bool is_on_pages(std::string_view key) {
  constexpr std::array<std::string_view, 7> kElsewhere = {
      "lesson.", "first.", "train.", "evaluate.", "bench.", "info.", "command."};
  constexpr std::array<std::string_view, 4> kMessages = {
      "message.absent", "message.says", "message.before_training", "message.after_training"};
  if (key.starts_with("message.")) return std::ranges::find(kMessages, key) != kMessages.end();
  return key != "language.order" && std::ranges::none_of(kElsewhere, [&](std::string_view one) {
           return key.starts_with(one);
         });
}

// Whether a run has something that `word` is a form or an end of: "ffn.hidden" of the formula
// "ffn.hidden.bias", "scores" of the tensor "encoder.self.scores".
bool is_form(const std::set<std::string>& used, std::string_view word) {
  return std::ranges::any_of(used, [&](const std::string& one) {
    return one == word || (one.starts_with(word) && one[word.size()] == '.');
  });
}
bool is_end(const std::set<std::string>& used, std::string_view word) {
  return std::ranges::any_of(used, [&](const std::string& one) {
    return one == word || (one.ends_with(word) && one[one.size() - word.size() - 1] == '.');
  });
}

// What is said of gradients in general, and of the operations at hand.
bool is_on_way_back(std::string_view way, const PageContent& content) {
  bool is_of_others = false;
  for (const auto& [name, operation] : explain::operation_table().operations) {
    if (operation.gradient_text != way) continue;
    if (content.operations.contains(name)) return true;
    is_of_others = true;
  }
  return !is_of_others;
}

// The terms that the page's scripts ask for by their keys.
const std::set<std::string_view>& terms_of_scripts() {
  static const std::set<std::string_view> kTerms = [] {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_.";
    std::set<std::string_view> terms;
    for (const std::string_view name : kScripts) {
      const std::string_view script = file(name);
      for (size_t at = script.find("term."); at != script.npos; at = script.find("term.", at + 1)) {
        const size_t end = std::min(script.find_first_not_of(kLetters, at), script.size());
        terms.insert(script.substr(at, end - at));
      }
    }
    return terms;
  }();
  return kTerms;
}

// Of texts on operations and tensors, those of the runs at hand.
bool is_told(std::string_view key, const PageContent& content) {
  const auto after = [&](std::string_view prefix) { return key.substr(prefix.size()); };
  if (key.starts_with("backward.")) return is_on_way_back(after("backward."), content);
  if (key.starts_with("formula.backward.")) {
    return is_on_way_back(after("formula.backward."), content);
  }
  if (key.starts_with("formula.variant.")) return true;
  if (key.starts_with("step.") && key.find(".encoder.") != key.npos) return content.encodes_only;
  if (key.starts_with("term.")) return terms_of_scripts().contains(key);
  if (key.starts_with("formula.")) return content.formulas.contains(std::string(after("formula.")));
  if (key.starts_with("operation.")) return is_form(content.formulas, after("operation."));
  if (key.starts_with("tensor.")) return is_end(content.texts, after("tensor."));
  if (key.starts_with("cell.term.") || key.starts_with("cell.ingredient.") ||
      key.starts_with("cell.combination.")) {
    // "cell.combination.quotient.one" goes with "cell.combination.quotient".
    return std::ranges::any_of(content.rule_keys, [&](const std::string& one) {
      return key == one || (key.starts_with(one) && key[one.size()] == '.');
    });
  }
  return is_on_pages(key);
}

Json texts_json(const PageContent& content) {
  // Every language has the same keys, in the same order.
  std::vector<bool> told;
  for (const auto& [key, text] : Catalogue::of(languages().front()).texts()) {
    told.push_back(is_told(key, content));
  }
  Json::Object all;
  for (const std::string_view language : languages()) {
    Json::Object texts;
    size_t at = 0;
    for (const auto& [key, text] : Catalogue::of(language).texts()) {
      if (told.at(at++)) texts.emplace_back(key, text);
    }
    all.emplace_back(std::string(language), std::move(texts));
  }
  return all;
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

// Nothing in the data can end the element that holds it.
std::string inside_script(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

}  // namespace

void PageContent::add(const Trace& trace) {
  encodes_only = trace.find("decoder.output") == nullptr;
  for (const auto* tensors : {&trace.tensors(), &trace.parameters()}) {
    for (const TracedTensor& tensor : *tensors) {
      formulas.insert(tensor.formula);
      texts.insert(tensor.text);
      if (!operations.insert(tensor.operation).second) continue;
      const explain::Rule& rule = tensor.description().rule;
      for (const auto& one : rule.ingredients) rule_keys.insert("cell.ingredient." + one.key);
      for (const auto& one : rule.terms) rule_keys.insert("cell.term." + one.key);
      for (const auto& one : rule.combinations) rule_keys.insert("cell.combination." + one.key);
    }
  }
}

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
                   {"losses", Json::Array(options_.losses.begin(), options_.losses.end())},
                   {"steps", page_steps()},
                   {"operations", explain::operations_json(content_.operations)},
                   {"texts", texts_json(content_)}},
      {{"runs", runs + "]"}});
}

void Page::write(base::Output& output) const {
  std::string_view rest = file("page.html");
  const auto put_until = [&](std::string_view mark) {
    const size_t at = rest.find(mark);
    output.write(rest.substr(0, at));
    rest.remove_prefix(at + mark.size());
  };
  put_until("{{style}}");
  for (const std::string_view style : kStyles) output.write(file(style));
  put_until("{{data}}");
  output.write(inside_script(data()));
  put_until("{{script}}");
  output.write("\"use strict\";\n");
  for (const std::string_view script : kScripts) output.write(file(script));
  output.write(file("page.js"));
  output.write(rest);
}

}  // namespace headlight::narrate
