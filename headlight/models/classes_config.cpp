// The labels of a folder, both ways.
#include "headlight/models/classes_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

namespace headlight::models {
namespace {

constexpr std::string_view kArchitecture = "ForSequenceClassification";
constexpr int64_t kMostLabels = 1'000'000;
constexpr std::array<std::string_view, 3> kProblems = {"single_label_classification",
                                                       "multi_label_classification", "regression"};

std::string classifying_architecture(const io::Json& config) {
  const io::Json* list = config.find("architectures");
  if (list == nullptr || list->array() == nullptr) return "";
  for (const io::Json& one : *list->array()) {
    if (one.text() != nullptr && one.text()->ends_with(kArchitecture)) return *one.text();
  }
  return "";
}

// The number of a key of id2label, "0".
int64_t label_number(const ConfigReader& reader, const std::string& key, int64_t labels) {
  int64_t number = -1;
  const char* end = key.data() + key.size();
  const auto [stopped, error] = std::from_chars(key.data(), end, number);
  if (error == std::errc() && stopped == end && number >= 0 && number < labels) return number;
  reader.refuse("id2label", "has the key " + io::in_quotes(key) + " among " +
                                std::to_string(labels) + ", labels are numbered from 0 to " +
                                std::to_string(labels - 1));
}

std::vector<std::string> read_labels(const ConfigReader& reader, const io::Json& names) {
  if (names.object() == nullptr || names.object()->empty()) {
    reader.refuse("id2label", "an object of numbers and labels is needed, {\"0\": \"good\"}");
  }
  const int64_t count = std::ssize(*names.object());
  std::vector<std::string> labels(static_cast<size_t>(count));
  std::vector<bool> seen(labels.size());
  for (const auto& [key, name] : *names.object()) {
    const auto number = static_cast<size_t>(label_number(reader, key, count));
    if (seen[number]) {
      reader.refuse("id2label", "has number " + std::to_string(number) + " twice");
    }
    if (name.text() == nullptr && !name.integer()) {
      reader.refuse("id2label", "the label of number " + std::to_string(number) + " is not a text");
    }
    seen[number] = true;
    labels[number] = name.text() != nullptr ? *name.text() : std::to_string(*name.integer());
  }
  return labels;
}

// What is made of the labels elsewhere in the file must not say something else.
void check_numbers_of_labels(const ConfigReader& reader, const std::vector<std::string>& labels) {
  const io::Json* numbers = reader.find("label2id");
  if (numbers == nullptr || numbers->object() == nullptr) return;
  const std::set<std::string_view> known(labels.begin(), labels.end());
  for (const auto& [name, number] : *numbers->object()) {
    if (!known.contains(name)) continue;
    const auto given = number.integer();
    const bool is_right = given && *given >= 0 && *given < std::ssize(labels) &&
                          labels[static_cast<size_t>(*given)] == name;
    if (is_right) continue;
    reader.refuse("label2id", "gives " + io::in_quotes(name) + " another number than id2label");
  }
}

std::vector<std::string> numbered_labels(int64_t count) {
  std::vector<std::string> labels;
  for (int64_t i = 0; i < count; ++i) labels.push_back("LABEL_" + std::to_string(i));
  return labels;
}

// Two labels without names stand in many folders that have another number of them, as earlier
// versions of transformers left them; the number is right then, and names would not be lost.
std::vector<std::string> labels_of(const ConfigReader& reader) {
  constexpr int64_t kUsual = 2;
  const io::Json* names = reader.find("id2label");
  const int64_t count = reader.size("num_labels", kMostLabels, kUsual);
  if (names == nullptr) return numbered_labels(count);
  std::vector<std::string> labels = read_labels(reader, *names);
  if (reader.find("num_labels") != nullptr && count != std::ssize(labels)) {
    if (labels == numbered_labels(std::ssize(labels))) return numbered_labels(count);
    reader.refuse("num_labels", "is " + std::to_string(count) + ", id2label has " +
                                    std::to_string(labels.size()));
  }
  check_numbers_of_labels(reader, labels);
  return labels;
}

}  // namespace

bool names_classifier(const io::Json& config) { return !classifying_architecture(config).empty(); }

std::optional<Classes> read_classes(const ConfigReader& reader) {
  Classes classes{.architecture = classifying_architecture(reader.json())};
  if (classes.architecture.empty()) return std::nullopt;
  classes.labels = labels_of(reader);
  classes.names_problem = reader.find("problem_type") != nullptr;
  const bool is_one = classes.labels.size() == 1;
  const std::string_view problem =
      reader.choice("problem_type", kProblems, kProblems[is_one ? 2 : 0]);
  const auto place = std::ranges::find(kProblems, problem) - kProblems.begin();
  classes.problem = static_cast<ClassProblem>(place);
  if (is_one && classes.problem == ClassProblem::single_label) {
    reader.refuse("problem_type", "one label alone is always right; two are needed, or regression");
  }
  return classes;
}

void write_classes(io::Json::Object& config, const Classes& classes) {
  std::erase_if(config, [](const io::Json::Member& one) { return one.first == "architectures"; });
  config.insert(config.begin(), {"architectures", io::Json::Array{classes.architecture}});
  io::Json::Object names;
  io::Json::Object numbers;
  std::set<std::string_view> seen;
  for (size_t i = 0; i < classes.labels.size(); ++i) {
    const std::string& name = classes.labels[i];
    names.emplace_back(std::to_string(i), name);
    if (seen.insert(name).second) numbers.emplace_back(name, i);
  }
  config.emplace_back("id2label", std::move(names));
  config.emplace_back("label2id", std::move(numbers));
  if (!classes.names_problem) return;
  config.emplace_back("problem_type", kProblems[static_cast<size_t>(classes.problem)]);
}

}  // namespace headlight::models
