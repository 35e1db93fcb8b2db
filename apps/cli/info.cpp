// `headlight info`: what a model directory holds.
#include <algorithm>
#include <map>

#include "apps/cli/program/program.h"
#include "apps/cli/program/terminal.h"
#include "headlight/io/io.h"
#include "headlight/recipes/recipes.h"
#include "headlight/text/text.h"

namespace headlight::cli {
namespace {

using narrate::Catalogue;

constexpr std::string_view kInfoExamples =
    R"(  headlight info
      names of the models that come with the program
  headlight info MODEL
      architecture, sizes, parameters, attention heads and tokenizer of a model directory
  headlight info MODEL --json
      the same with the whole configuration, for programs
)";

// "decoder.self: 2 layers of 4 heads", by kind of attention.
std::string attention_lines(const Catalogue& catalogue,
                            const recipes::ModelInformation& information) {
  std::map<std::string, std::vector<int64_t>> kinds;
  for (const auto& [place, heads] : information.attentions) {
    const size_t first = place.find('.');
    const size_t last = place.rfind('.');
    kinds[place.substr(0, first) + place.substr(last)].push_back(heads);
  }
  std::string lines;
  for (const auto& [kind, heads] : kinds) {
    const auto [fewest, most] = std::minmax_element(heads.begin(), heads.end());
    const std::string count =
        *fewest == *most ? std::to_string(*fewest)
                         : catalogue.text("info.range", {{"fewest", std::to_string(*fewest)},
                                                         {"most", std::to_string(*most)}});
    lines += "  " + kind + ": " +
             catalogue.text("info.layers",
                            {{"layers", std::to_string(heads.size())}, {"heads", count}}) +
             "\n";
  }
  return lines;
}

std::string text_of(const Catalogue& catalogue, const recipes::ModelInformation& information) {
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&](const char* key, const std::string& value) {
    facts.emplace_back(catalogue.text(key), value);
  };
  add("info.model", information.type);
  add("info.parameters", std::to_string(information.parameters));
  if (information.source_vocab_size != information.vocab_size) {
    add("info.source_ids", std::to_string(information.source_vocab_size));
  }
  add("info.ids", std::to_string(information.vocab_size));
  add("info.context", std::to_string(information.context_length));
  add("info.tokenizer",
      information.tokenizer.empty() ? catalogue.text("info.none") : information.tokenizer);
  int64_t width = 12;
  for (const auto& [label, _] : facts) width = std::max(width, text::columns(label) + 2);
  std::string text;
  for (const auto& [label, value] : facts) {
    text += narrate::padded(label, width) + value + "\n";
  }
  text += catalogue.text("info.attention") + "\n" + attention_lines(catalogue, information) +
          catalogue.text("info.configuration") + "\n";
  for (const auto& [key, value] : *information.config.object()) {
    text += "  " + key + ": " + io::json_text(value) + "\n";
  }
  return text;
}

// What comes with the program, when no MODEL is named.
void list_embedded(Session& session) {
  const std::vector<std::string> names = recipes::embedded_models();
  if (session.json) {
    io::Json::Array models;
    for (const std::string& name : names) models.emplace_back(name);
    session.output.write(io::json_text(io::Json::Object{{"models", models}}) + "\n");
    return;
  }
  for (const std::string& name : names) session.output.write(name + "\n");
}

void run_info(Session& session) {
  if (!session.arguments.has("model")) {
    list_embedded(session);
    return;
  }
  const recipes::ModelInformation information =
      recipes::information_on(session.files, load_model(session));
  session.output.write(
      session.json ? io::json_text(recipes::information_json(information)) + "\n"
                   : text_of(Catalogue::of(chosen_language(session.arguments)), information));
}

}  // namespace

const Command kInfo = {"info",   "what a model directory holds",      kInfoExamples, {},
                       run_info, {.name = "MODEL", .required = false}};

}  // namespace headlight::cli
