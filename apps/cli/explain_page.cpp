// Puts the page's parts and the walk's data together.
#include "apps/cli/explain_page.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "headlight/io/io.h"

namespace headlight::cli {
namespace {

using explain::Trace;
using explain::TracedTensor;
using io::Json;
using tensor::Tensor;

constexpr int64_t kMostOfTensor = int64_t{1} << 18;
constexpr int64_t kMostOfRun = int64_t{1} << 21;
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

// A float in the shortest form that reads back the same. What JSON has no number for is a string
// that JavaScript's Number reads.
void append_number(std::string& text, float value) {
  if (!std::isfinite(value)) {
    text += std::isnan(value) ? "\"NaN\"" : value < 0 ? "\"-Infinity\"" : "\"Infinity\"";
    return;
  }
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(digits.data(), end);
}

template <typename T>
void append_list(std::string& text, const T* values, int64_t count) {
  text += '[';
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    if constexpr (std::is_integral_v<T>) {
      text += std::to_string(values[i]);
    } else {
      append_number(text, values[i]);
    }
  }
  text += ']';
}

void append_values(std::string& text, const Tensor& values) {
  if (values.dtype() == tensor::DType::i64) {
    append_list(text, values.data<int64_t>(), values.shape().elements());
  } else {
    const Tensor dense = values.contiguous();
    append_list(text, dense.data<float>(), dense.shape().elements());
  }
}

// {"name": [numbers], ...} of the tensors and parameters that are small enough.
std::string values_json(const Trace& trace) {
  std::set<std::string_view> chosen;
  int64_t sum = 0;
  const auto choose = [&](const std::vector<TracedTensor>& tensors, bool weights_only) {
    for (const TracedTensor& tensor : tensors) {
      const int64_t count = tensor.shape.elements();
      const bool wanted = !weights_only || tensor.name.ends_with(".weights");
      if (!wanted || count > kMostOfTensor || sum + count > kMostOfRun) continue;
      if (chosen.insert(tensor.name).second) sum += count;
    }
  };
  choose(trace.tensors(), true);
  choose(trace.tensors(), false);
  choose(trace.parameters(), false);
  std::string text = "{";
  for (const std::string_view name : chosen) {
    if (text.size() > 1) text += ',';
    text += io::json_text(Json(name)) + ":";
    append_values(text, trace.values(name));
  }
  return text + "}";
}

Json targets_json(const explain::Input& input) {
  Json::Array list;
  const Tensor& targets = input.batch.targets;
  for (size_t i = 0; i < input.tokens.size(); ++i) {
    list.emplace_back(targets.defined() ? targets.data<int64_t>()[i] : int64_t{-1});
  }
  return list;
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
    if (gradient.values.shape().elements() > kMostOfTensor) continue;
    if (gradients.size() > 1) gradients += ',';
    gradients += io::json_text(Json(gradient.name)) + ":";
    append_values(gradients, gradient.values);
  }
  std::string error;
  append_values(error, walk.error);
  return with_members(explain::backward_json(trace, walk),
                      {{"error", error}, {"gradient_values", gradients + "}"}});
}

Json texts_json() {
  Json::Object all;
  for (const std::string_view language : explain::languages()) {
    Json::Object texts;
    for (const auto& [key, text] : explain::Catalogue::of(language).texts()) {
      // Lessons and the terminal's own words are not shown.
      if (!key.starts_with("lesson.") && !key.starts_with("first.")) texts.emplace_back(key, text);
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

// Nothing in the data can end the element that holds it.
std::string inside_script(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

}  // namespace

void Page::add(Trace& trace, const models::Model& model, const PageRun& run) {
  vocabulary_ = trace.input().vocabulary;
  const std::vector<explain::Variant> variants = variants_of(trace, model, options_.variants);
  Json described = explain::trace_json(trace);
  Json::Object& members = *described.object();
  members.emplace_back("key", run.key);
  members.emplace_back("targets", targets_json(trace.input()));
  members.emplace_back("heads", list_json(explain::head_statistics(trace), explain::head_json));
  members.emplace_back("variants", list_json(variants, explain::variant_json));
  members.emplace_back("continuation", run.continuation);
  runs_.push_back(with_members(described, {{"values", values_json(trace)},
                                           {"backward", backward_text(trace, run.backward)}}));
}

std::string Page::data() const {
  std::string runs = "[";
  for (const std::string& run : runs_) runs.append(runs.size() > 1 ? "," : "").append(run);
  return with_members(
      Json::Object{{"language", options_.language},
                   {"version", options_.version},
                   {"source", options_.text},
                   {"sentences", list_json(options_.sentences, sentence_json)},
                   {"asked", Json::Array(options_.variants.begin(), options_.variants.end())},
                   {"vocabulary", Json::Array(vocabulary_.begin(), vocabulary_.end())},
                   {"place", options_.place},
                   {"losses", Json::Array(options_.losses.begin(), options_.losses.end())},
                   {"texts", texts_json()}},
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

}  // namespace headlight::cli
