// Which texts a page has, and how its parts stand in the document.
#include "headlight/narrate/page_document.h"

#include <algorithm>
#include <array>

#include "headlight/io/io.h"
#include "headlight/narrate/languages.h"

namespace headlight::narrate {
namespace {

using explain::TracedTensor;
using io::Json;

std::string_view file(std::string_view path) {
  return std::ranges::find(page_files(), path, &base::EmbeddedFile::path)->bytes;
}

bool starts_with_one(std::string_view key, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](std::string_view one) { return key.starts_with(one); });
}

// Lessons and what only a terminal says are not shown.
bool is_in_walk(std::string_view key) {
  constexpr std::array<std::string_view, 6> kMessages = {
      "message.absent",          "message.text",           "message.says",
      "message.before_training", "message.after_training", "message.no_target"};
  if (key.starts_with("message.")) return std::ranges::find(kMessages, key) != kMessages.end();
  return !starts_with_one(key, {"lesson.", "first.", "exercise.", "mistake.", "train.", "evaluate.",
                                "bench.", "info.", "command.", "experiment.", "studio."}) &&
         key != "language.order";
}

// Of the studio, what needs no server.
bool is_in_studio_without_server(std::string_view key) {
  return starts_with_one(key,
                         {"studio.panel", "studio.heads.", "studio.microscope.", "studio.zoom_",
                          "studio.whole_model", "studio.export", "studio.watch", "studio.film"});
}

// A lesson has its own words for its steps.
bool is_in_lesson(std::string_view key) {
  if (key.starts_with("message.")) return key.starts_with("message.left_out");
  return starts_with_one(
             key, {"page.", "cell.", "slip.", "exercise.", "mistake.", "label.", "studio.watch"}) ||
         key == "place.head" || (key.starts_with("language.") && key != "language.order");
}

// The page of an experiment has few words besides those of its report.
bool is_in_report(std::string_view key) {
  constexpr std::array<std::string_view, 11> kOthers = {
      "page.language", "page.theme", "page.help",  "page.close", "page.key.heads", "command.next",
      "page.key.help", "heads.text", "term.query", "term.key",   "term.value",
  };
  return starts_with_one(key, {"experiment.", "role."}) ||
         std::ranges::find(kOthers, key) != kOthers.end() ||
         (key.starts_with("language.") && key != "language.order");
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

// The terms that the page's script asks for by their keys.
const std::set<std::string_view>& terms_of_script() {
  static const std::set<std::string_view> kTerms = [] {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_.";
    std::set<std::string_view> terms;
    const std::string_view script = file("offline.js");
    for (size_t at = script.find("term."); at != script.npos; at = script.find("term.", at + 1)) {
      const size_t end = std::min(script.find_first_not_of(kLetters, at), script.size());
      terms.insert(script.substr(at, end - at));
    }
    return terms;
  }();
  return kTerms;
}

// Texts that only the walk has: on its steps, the way back and other ways.
bool is_of_walk(std::string_view key, const PageContent& content) {
  const auto after = [&](std::string_view prefix) { return key.substr(prefix.size()); };
  if (key.starts_with("backward.")) return is_on_way_back(after("backward."), content);
  if (key.starts_with("formula.backward.")) {
    return is_on_way_back(after("formula.backward."), content);
  }
  if (key.starts_with("step.") && key.find(".encoder.") != key.npos) return content.encodes_only;
  return true;
}

// Of texts on operations and tensors, those of the runs at hand.
bool is_told(std::string_view key, const PageContent& content, PageKind kind) {
  if (kind == PageKind::report) return is_in_report(key);
  const auto after = [&](std::string_view prefix) { return key.substr(prefix.size()); };
  if (starts_with_one(key, {"backward.", "formula.backward.", "formula.variant.", "step."})) {
    return kind == PageKind::walk && is_of_walk(key, content);
  }
  if (key.starts_with("term.")) return terms_of_script().contains(key);
  if (key.starts_with("formula.")) return content.formulas.contains(std::string(after("formula.")));
  if (key.starts_with("operation.")) return is_form(content.formulas, after("operation."));
  if (key.starts_with("tensor.")) return is_end(content.texts, after("tensor."));
  if (starts_with_one(key, {"cell.term.", "cell.ingredient.", "cell.combination."})) {
    // "cell.combination.quotient.one" goes with "cell.combination.quotient".
    return std::ranges::any_of(content.rule_keys, [&](const std::string& one) {
      return key == one || (key.starts_with(one) && key[one.size()] == '.');
    });
  }
  if (kind == PageKind::lesson) return is_in_lesson(key);
  return is_in_walk(key) || is_in_studio_without_server(key);
}

// Nothing in the data can end the element that holds it.
std::string inside_script(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

}  // namespace

void PageContent::add(const explain::Trace& trace) {
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

Json page_texts(const PageContent& content, PageKind kind) {
  // Every language has the same keys, in the same order.
  std::vector<bool> told;
  for (const auto& [key, text] : Catalogue::of(languages().front()).texts()) {
    told.push_back(is_told(key, content, kind));
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

void write_page(base::Output& output, const std::string& data) {
  std::string_view rest = file("offline.html");
  const auto put_until = [&](std::string_view mark) {
    const size_t at = rest.find(mark);
    output.write(rest.substr(0, at));
    rest.remove_prefix(at + mark.size());
  };
  put_until("{{style}}");
  output.write(file("studio.css"));
  put_until("{{data}}");
  output.write(inside_script(data));
  put_until("{{script}}");
  output.write(file("offline.js"));
  output.write(rest);
}

const std::vector<StudioFile>& studio_files() {
  static const std::vector<StudioFile> files = {
      {"/", "text/html; charset=utf-8", file("studio.html"), file("studio.html.gz")},
      {"/studio.js", "text/javascript; charset=utf-8", file("studio.js"), file("studio.js.gz")},
      {"/studio.css", "text/css; charset=utf-8", file("studio.css"), file("studio.css.gz")},
      {"/icon.svg", "image/svg+xml", file("icon.svg"), file("icon.svg.gz")},
  };
  return files;
}

}  // namespace headlight::narrate
