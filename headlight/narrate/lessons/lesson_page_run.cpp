// Tensors of several runs under their full names, and the numbers of large ones that are needed.
#include "headlight/narrate/lessons/lesson_page_run.h"

#include <algorithm>
#include <cmath>

#include "headlight/narrate/lessons/shown_excerpt.h"
#include "headlight/narrate/page_values.h"

namespace headlight::narrate {
namespace {

using explain::TracedTensor;
using io::Json;
using tensor::Tensor;

constexpr int64_t kMostOfWholeTensor = 1 << 13;

// The same under the names that readers of the lesson know.
TracedTensor renamed(const LessonRun& run, TracedTensor tensor) {
  tensor.name = run.full_name(tensor.name);
  for (explain::Operand& operand : tensor.operands) operand.name = run.full_name(operand.name);
  return tensor;
}

Json tensor_json_of(const LessonRun& run, const TracedTensor& tensor) {
  Json json = explain::tensor_json(renamed(run, tensor));
  Json::Object& members = *json.object();
  if (tensor.row != 0) members.emplace_back("row", tensor.row);
  if (tensor.is_attention) members.emplace_back("attention", true);
  members.emplace_back("of", run.name);
  return json;
}

TracedTensor given_tensor(const std::string& name, const ShownArray& array) {
  TracedTensor tensor{.name = name, .shape = array.numbers.shape(), .axes = array.axes};
  tensor.axes.resize(static_cast<size_t>(tensor.shape.rank()), explain::Axis::column);
  tensor.text = name;
  return tensor;
}

Tensor as_floats(const std::vector<double>& numbers) {
  const std::vector<float> floats(numbers.begin(), numbers.end());
  return Tensor::of({std::ssize(floats)}, floats);
}

// Numbers that stand in a row together, by the place of the first.
std::string segments_text(const LessonRun& run, const TracedTensor& tensor,
                          const std::set<int64_t>& places) {
  std::string text = "{";
  std::vector<double> segment;
  int64_t first = 0;
  const auto put = [&] {
    if (segment.empty()) return;
    text += (text.size() > 1 ? ",\"" : "\"") + std::to_string(first) +
            "\":" + page_numbers(as_floats(segment));
    segment.clear();
  };
  for (const int64_t place : places) {
    if (place != first + std::ssize(segment)) put();
    if (segment.empty()) first = place;
    segment.push_back(run.trace.value(tensor, index_in(tensor.shape, place)));
  }
  put();
  return text + "}";
}

int64_t place_in(const tensor::Shape& shape, const std::vector<int64_t>& index) {
  int64_t place = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    place = place * shape[axis] + index[static_cast<size_t>(axis)];
  }
  return place;
}

}  // namespace

io::Json page_number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
}

bool LessonPageRun::is_whole(const TracedTensor& tensor) const {
  return tensor.shape.elements() <= kMostOfWholeTensor;
}

std::string LessonPageRun::show(const ShownArray& array) {
  if (!runs_.knows(array.tensor)) {
    std::string name = array.name;
    while (given_.contains(name)) name += "'";
    given_.emplace(name, array);
    return name;
  }
  const auto [run, name] = runs_.find(array.tensor);
  const TracedTensor& tensor = run->trace.at(name);
  const bool needs_operands =
      std::ranges::any_of(tensor.operands, [&, trace = &run->trace](const explain::Operand& one) {
        return !is_whole(trace->at(one.name));
      });
  for (const int64_t place : excerpt_of(array).places()) {
    const int64_t cell = array.tensor_begin + place;
    if (!is_whole(tensor)) needed_[array.tensor].insert(cell);
    if (needs_operands) need_operands(*run, tensor, index_in(tensor.shape, cell));
  }
  return array.tensor;
}

void LessonPageRun::need_operands(const LessonRun& run, const TracedTensor& tensor,
                                  const std::vector<int64_t>& index) {
  const explain::CellTerms cell = explain::explain_cell(run.trace, {tensor.name, index});
  const auto need = [&](const explain::CellReference& one) {
    const TracedTensor& operand = run.trace.at(one.name);
    if (is_whole(operand)) return;
    needed_[run.full_name(one.name)].insert(place_in(operand.shape, one.index));
  };
  for (const explain::Term& term : cell.terms) {
    for (const explain::Factor& factor : term.factors) need(factor.cell);
  }
  for (const explain::Ingredient& ingredient : cell.ingredients) {
    if (ingredient.cell) need(*ingredient.cell);
  }
}

PageContent LessonPageRun::content() const {
  PageContent content;
  for (const auto& run : runs_.all()) content.add(run->trace);
  if (!given_.empty()) content.operations.insert(std::string(explain::kGiven));
  return content;
}

io::Json LessonPageRun::labels_json() const {
  Json::Object all;
  for (const auto& run : runs_.all()) {
    const explain::Input& input = run->trace.input();
    all.emplace_back(
        run->name,
        Json::Object{
            {"tokens", Json::Array(input.tokens.begin(), input.tokens.end())},
            {"source_tokens", Json::Array(input.source_tokens.begin(), input.source_tokens.end())},
            {"vocabulary", Json::Array(input.vocabulary.begin(), input.vocabulary.end())}});
  }
  return all;
}

std::string LessonPageRun::json() const {
  Json::Array tensors, parameters;
  std::string values;
  const auto put = [&](const std::string& name, const std::string& numbers) {
    values += (values.empty() ? "" : ",") + io::json_text(Json(name)) + ":" + numbers;
  };
  for (const auto& run : runs_.all()) {
    const auto add = [&](const std::vector<TracedTensor>& all, Json::Array& list) {
      for (const TracedTensor& tensor : all) {
        list.push_back(tensor_json_of(*run, tensor));
        const std::string name = run->full_name(tensor.name);
        const auto needed = needed_.find(name);
        if (is_whole(tensor)) {
          put(name, page_numbers(run->trace.values(tensor.name)));
        } else if (needed != needed_.end()) {
          put(name, segments_text(*run, tensor, needed->second));
        }
      }
    };
    add(run->trace.tensors(), tensors);
    add(run->trace.parameters(), parameters);
  }
  for (const auto& [name, array] : given_) {
    tensors.push_back(explain::tensor_json(given_tensor(name, array)));
    put(name, page_numbers(array.numbers));
  }
  const Json described = Json::Object{{"key", ""},
                                      {"tokens", Json::Array()},
                                      {"source_tokens", Json::Array()},
                                      {"targets", Json::Array()},
                                      {"likeliest", Json::Array()},
                                      {"written", 0},
                                      {"heads", Json::Array()},
                                      {"variants", Json::Array()},
                                      {"continuation", ""},
                                      {"tensors", std::move(tensors)},
                                      {"parameters", std::move(parameters)},
                                      {"backward", Json()}};
  return with_members(described, {{"values", "{" + values + "}"}});
}

}  // namespace headlight::narrate
