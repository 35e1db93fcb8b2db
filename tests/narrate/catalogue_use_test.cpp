// Every text of the catalogue is shown somewhere: what nothing asks for is removed.
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/explain/support.h"
#include "tests/narrate/catalogue_words.h"
#include "tests/places.h"

namespace headlight::explain {
namespace {

using narrate::Catalogue;

// Keys that are put together from what runs and choices are called.
class KnownKeys {
 public:
  void add(const std::string& key) { keys_.insert(key); }
  bool has(const std::string& key) const { return keys_.contains(key); }

  void add_trace(const Trace& trace) {
    for (const TracedTensor& tensor : trace.tensors()) {
      add_title(tensor);
      add("place." + tensor.text.substr(0, tensor.text.rfind('.')) + ".text");
      for (const std::string& part : test::parts_of(tensor.name, '.')) add("place." + part);
      const std::vector<int64_t> first(tensor.axes.size(), 0);
      const CellTerms cell = explain_cell(trace, {tensor.name, first});
      for (const Term& term : cell.terms) add("cell.term." + term.key);
      for (const Ingredient& one : cell.ingredients) add("cell.ingredient." + one.key);
    }
  }

  void add_choices() {
    for (const std::string& formula : operation_table().formulas) {
      add("formula." + formula);
      add("operation." + formula);
    }
    for (const std::string& variant : test::variant_keys()) {
      add("variant." + variant);
      add("variant." + variant.substr(0, variant.find('.')));
      add("formula.variant." + variant);
      add("formula.variant." + variant + ".bias");
    }
    for (int role = 0; role <= static_cast<int>(heads::HeadRole::none); ++role) {
      const std::string name(name_of(static_cast<heads::HeadRole>(role)));
      add("role." + name);
      add("role." + name + ".text");
    }
    for (const auto by :
         {heads::AblationKind::zero, heads::AblationKind::mean, heads::AblationKind::resample})
      add("experiment.ablate.by_" + std::string(name_of(by)));
    for (int part = 0; part <= static_cast<int>(heads::PartKind::other); ++part)
      add("experiment.part." + std::string(name_of(static_cast<heads::PartKind>(part))));
    for (const auto direction :
         {heads::PatchDirection::clean_into_corrupt, heads::PatchDirection::corrupt_into_clean})
      add("experiment.patch." + std::string(name_of(direction)));
    add_pruning();
    for (const std::string& key : test::rule_keys()) add(key);
    for (const std::string& model : recipes::embedded_models()) add("command.model." + model);
    for (const std::string& key : test::mistake_keys()) add(key);
  }

 private:
  void add_pruning() {
    for (int method = 0; method <= static_cast<int>(heads::PruneMethod::random); ++method) {
      const std::string name(name_of(static_cast<heads::PruneMethod>(method)));
      add("experiment.method." + name);
      add("experiment.prune.by_" + name);
    }
    add("experiment.prune.by_name");
    for (const char* type : {"all", "encoder", "decoder", "cross"})
      add(std::string("experiment.type.") + type);
    for (int reason = 0; reason <= static_cast<int>(heads::SpeedReason::noise); ++reason) {
      const std::string name(name_of(static_cast<heads::SpeedReason>(reason)));
      add("experiment.reason." + name);
      add("experiment.bench.why_" + name);
    }
  }

  void add_title(const TracedTensor& tensor) {
    for (const auto& [key, text] : Catalogue::of("en").texts()) {
      if (key.starts_with("tensor.") && Catalogue::of("en").title(tensor) == text) add(key);
    }
  }

  std::set<std::string> keys_;
};

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> sources() {
  std::vector<std::string> all;
  for (const char* folder :
       {"/headlight/narrate", "/headlight/narrate/lessons", "/headlight/narrate/report",
        "/headlight/explain", "/headlight/explain/operations", "/headlight/nn", "/headlight/models",
        "/headlight/recipes", "/apps/cli", "/apps/cli/explain", "/apps/cli/bench",
        "/apps/cli/attend", "/apps/cli/heads", "/apps/cli/program"}) {
    for (const auto& entry : std::filesystem::directory_iterator(tests::source_folder() + folder)) {
      if (entry.path().extension() == ".cpp") all.push_back(text_of(entry.path()));
    }
  }
  // The page: a view asks for the texts of its name wherever that stands.
  std::string page;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(tests::source_folder() + "/studio/src")) {
    if (entry.path().extension() == ".ts") page += text_of(entry.path());
  }
  all.push_back(page);
  return all;
}

bool has_quoted(const std::string& source, const std::string& text) {
  return source.find('"' + text + '"') != std::string::npos ||
         source.find("\"." + text + '"') != std::string::npos ||
         source.find('`' + text + '`') != std::string::npos;
}

// As a whole; or one file has its beginning, to which something is put, and its end.
bool is_mentioned(const std::vector<std::string>& files, const std::string& key) {
  for (const std::string& file : files) {
    if (has_quoted(file, key)) return true;
    for (size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1)) {
      const std::string begin = key.substr(0, dot + 1);
      const bool is_begun =
          has_quoted(file, begin) || file.find('`' + begin + "${") != std::string::npos;
      if (is_begun && has_quoted(file, key.substr(dot + 1))) return true;
    }
  }
  return false;
}

// What lessons and steps are made of has a title and a text by number; slips, the tensors of
// lessons, the facts of an evaluation, the columns of experiments and what models can do are named
// in lists.
bool is_listed(const std::vector<std::string>& files, const std::string& key) {
  const std::vector<std::string> parts = test::parts_of(key, '.');
  if (parts[0] == "step" || parts[0] == "lesson") {
    const std::set<std::string> ends = {"title", "text", "note", "intro"};
    return ends.contains(parts.back());
  }
  if (key.starts_with("experiment.column.") || key.starts_with("info.can."))
    return std::ranges::any_of(files, [&](const auto& file) { return has_quoted(file, parts[2]); });
  return (parts[0] == "slip" || parts[0] == "tensor" || parts[0] == "evaluate") &&
         std::any_of(files.begin(), files.end(),
                     [&](const auto& file) { return has_quoted(file, parts[1]); });
}

TEST_F(ExplainTest, every_text_of_the_catalogue_is_used) {
  KnownKeys known;
  known.add_choices();
  known.add_trace(worked_trace());
  models::Gpt gpt(models::small_gpt());
  gpt.attentions().front()->set_gates(autograd::Value::leaf(Tensor::of({4}, {1, 0, 1, 0.5F})));
  known.add_trace(traced(gpt, 5));
  models::Bert bert(models::small_bert());
  known.add_trace(traced(bert, 4));
  const std::vector<std::string> files = sources();
  ASSERT_GT(files.size(), 50U);
  for (const auto& [key, text] : Catalogue::of("en").texts()) {
    if (key.starts_with("term.")) continue;  // the common list, whole
    const std::string formula = key.starts_with("formula.backward.") ? key.substr(8) : key;
    EXPECT_TRUE(known.has(key) || is_listed(files, key) || is_mentioned(files, formula)) << key;
  }
}

}  // namespace
}  // namespace headlight::explain
