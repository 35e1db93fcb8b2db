// `headlight info`: what a model directory holds.
#include <algorithm>
#include <map>

#include "apps/cli/program/progress.h"
#include "apps/cli/program/terminal.h"
#include "headlight/io/io.h"
#include "headlight/recipes/recipes.h"
#include "headlight/text/text.h"

namespace headlight::cli {
namespace {

using narrate::Catalogue;

constexpr std::string_view kInfoExamples =
    R"(  headlight info
      the models that come with the program: what for, how large, how to try them
  headlight info MODEL
      architecture, sizes, parameters, attention heads and tokenizer of a model directory
  headlight info MODEL --json
      the same with the whole configuration, for programs
)";

// "decoder.0.self: heads left: 2 of 4 (0, 2)", of attentions that were pruned.
std::string pruned_lines(const Catalogue& catalogue, const recipes::ModelInformation& information) {
  std::string lines;
  for (const recipes::AttentionInformation& one : information.attentions) {
    if (std::ssize(one.heads) == one.original) continue;
    std::string numbers;
    for (const int64_t head : one.heads) {
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(head);
    }
    lines += "  " + one.place + ": " +
             catalogue.text(one.heads.empty() ? "info.no_heads_left" : "info.heads_left",
                            {{"left", std::to_string(one.heads.size())},
                             {"heads", std::to_string(one.original)},
                             {"numbers", numbers}}) +
             "\n";
  }
  return lines;
}

// "decoder.self: 2 layers of 4 heads", by kind of attention.
std::string attention_lines(const Catalogue& catalogue,
                            const recipes::ModelInformation& information) {
  std::map<std::string, std::vector<int64_t>> kinds;
  for (const recipes::AttentionInformation& one : information.attentions) {
    const size_t first = one.place.find('.');
    const size_t last = one.place.rfind('.');
    kinds[one.place.substr(0, first) + one.place.substr(last)].push_back(std::ssize(one.heads));
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
  return lines + pruned_lines(catalogue, information);
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

int64_t parameters_of(const Session& session, const std::string& name) {
  return recipes::information_on(session.files, recipes::load_named_model(session.files, name))
      .parameters;
}

// As it is to be typed.
std::string example_of(const std::string& name) {
  std::string command = program_name();
  for (const std::string& word : recipes::embedded_example(name)) {
    command += " " + narrate::shell_quoted(word);
  }
  return command;
}

std::string purpose_of(const Session& session, const std::string& name) {
  return command_text(session, "command.model." + name);
}

void print_embedded(Session& session, const std::vector<std::string>& names) {
  const narrate::Catalogue& catalogue = catalogue_of(session.arguments);
  const int64_t width = style_of_output().width;
  for (const std::string& name : names) {
    const std::string parameters = catalogue.text(
        "command.train.parameters",
        {{"count",
          narrate::count_text(catalogue, static_cast<double>(parameters_of(session, name)))}});
    const std::string size = narrate::size_text(catalogue, recipes::embedded_bytes(name));
    session.output.write(narrate::wrapped(name + ": " + purpose_of(session, name), width) +
                         narrate::wrapped(parameters + " · " + size, width, "  ") +
                         narrate::wrapped_command(example_of(name), width, "  ") + "\n");
  }
  session.output.write(narrate::wrapped(catalogue.text("command.model.folders"), width));
}

io::Json::Array embedded_json(const Session& session, const std::vector<std::string>& names) {
  io::Json::Array models;
  for (const std::string& name : names) {
    models.emplace_back(
        io::Json::Object{{"name", name},
                         {"purpose", purpose_of(session, name)},
                         {"parameters", parameters_of(session, name)},
                         {"bytes", static_cast<int64_t>(recipes::embedded_bytes(name))},
                         {"example", example_of(name)}});
  }
  return models;
}

// What comes with the program, when no MODEL is named.
void list_embedded(Session& session) {
  const std::vector<std::string> names = recipes::embedded_models();
  if (!session.json) return print_embedded(session, names);
  const io::Json document =
      io::Json::Object{{"models", io::Json::Array(names.begin(), names.end())},
                       {"embedded", embedded_json(session, names)}};
  session.output.write(io::json_text(document) + "\n");
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
