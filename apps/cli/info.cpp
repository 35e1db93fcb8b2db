// `headlight info`: what a model directory holds.
#include <algorithm>
#include <map>

#include "apps/cli/program/program.h"
#include "headlight/io/io.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

constexpr std::string_view kInfoExamples =
    R"(  headlight info
      names of the models that come with the program
  headlight info MODEL
      architecture, sizes, parameters, attention heads and tokenizer of a model directory
  headlight info MODEL --json
      the same with the whole configuration, for programs
)";

// "decoder.self: 2 layers of 4 heads", by kind of attention.
std::string attention_lines(const recipes::ModelInformation& information) {
  std::map<std::string, std::vector<int64_t>> kinds;
  for (const auto& [place, heads] : information.attentions) {
    const size_t first = place.find('.');
    const size_t last = place.rfind('.');
    kinds[place.substr(0, first) + place.substr(last)].push_back(heads);
  }
  std::string lines;
  for (const auto& [kind, heads] : kinds) {
    const auto [fewest, most] = std::minmax_element(heads.begin(), heads.end());
    lines += "  " + kind + ": " + std::to_string(heads.size()) + " layers of " +
             std::to_string(*fewest) + (*fewest == *most ? "" : " to " + std::to_string(*most)) +
             " heads\n";
  }
  return lines;
}

std::string text_of(const recipes::ModelInformation& information) {
  std::string text;
  const auto line = [&text](std::string name, const std::string& value) {
    name.resize(12, ' ');
    text += name + value + "\n";
  };
  line("model", information.type);
  line("parameters", std::to_string(information.parameters));
  if (information.source_vocab_size != information.vocab_size) {
    line("source ids", std::to_string(information.source_vocab_size));
  }
  line("ids", std::to_string(information.vocab_size));
  line("context", std::to_string(information.context_length));
  line("tokenizer", information.tokenizer.empty() ? "none" : information.tokenizer);
  text += "attention\n" + attention_lines(information) + "configuration\n";
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
  session.output.write(session.json ? io::json_text(recipes::information_json(information)) + "\n"
                                    : text_of(information));
}

}  // namespace

const Command kInfo = {"info",   "what a model directory holds",      kInfoExamples, {},
                       run_info, {.name = "MODEL", .required = false}};

}  // namespace headlight::cli
