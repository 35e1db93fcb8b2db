// `headlight info`: what a model directory or file holds.
#include "apps/cli/program/progress.h"
#include "apps/cli/program/terminal.h"
#include "headlight/io/io.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

using narrate::Catalogue;

constexpr std::string_view kInfoExamples =
    R"(  headlight info
      the models that come with the program: what for, how large, how to try them
  headlight info MODEL
      architecture, sizes, parameters, attention heads and tokenizer of a model directory
  headlight info model.gguf
      architecture, sizes, types of numbers and tokenizer of a GGUF file
  headlight info MODEL --json
      the same with the whole configuration, for programs
)";

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
  const Catalogue& catalogue = Catalogue::of(chosen_language(session.arguments));
  const std::string place = recipes::model_place(session.files, *session.arguments.text("model"));
  if (io::is_gguf_file(session.files, place)) {
    const recipes::GgufInformation gguf = recipes::gguf_information(session.files, place);
    session.output.write(session.json ? io::json_text(recipes::gguf_information_json(gguf)) + "\n"
                                      : narrate::gguf_text(catalogue, gguf));
    return;
  }
  const recipes::ModelInformation information =
      recipes::information_on(session.files, load_packed_model(session));
  session.output.write(session.json ? io::json_text(recipes::information_json(information)) + "\n"
                                    : narrate::model_text(catalogue, information));
}

}  // namespace

const Command kInfo = {"info",   "what a model directory or file holds", kInfoExamples, {},
                       run_info, {.name = "MODEL", .required = false}};

}  // namespace headlight::cli
