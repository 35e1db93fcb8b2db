// `headlight info`: what a model directory holds.
#include <algorithm>
#include <map>

#include "apps/cli/program.h"
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

// Files that together are a tokenizer; the first set that is there is used.
struct TokenizerFiles {
  const char* first;
  const char* second;  // may be null
};
constexpr TokenizerFiles kTokenizers[] = {{"tokenizer.json", nullptr},
                                          {"vocab.json", "merges.txt"},
                                          {"encoder.json", "vocab.bpe"},
                                          {"vocab.txt", nullptr}};

struct Information {
  io::Json config;
  std::string type;
  int64_t parameters = 0;
  int64_t vocab_size = 0;
  int64_t source_vocab_size = 0;
  int64_t context_length = 0;
  std::vector<std::pair<std::string, int64_t>> attentions;  // place and heads
  std::string tokenizer;                                    // empty: none
};

std::string tokenizer_in(base::FileSystem& files, const std::string& folder) {
  for (const TokenizerFiles& tokenizer : kTokenizers) {
    if (!base::exists(files, folder + "/" + tokenizer.first)) continue;
    if (tokenizer.second == nullptr) return tokenizer.first;
    if (base::exists(files, folder + "/" + tokenizer.second)) {
      return std::string(tokenizer.first) + ", " + tokenizer.second;
    }
  }
  return "";
}

Information information_on(base::FileSystem& files, const recipes::LoadedModel& loaded) {
  models::Model& model = *loaded.model;
  Information information{.config = model.config(),
                          .type = std::string(model.type()),
                          .vocab_size = model.vocab_size(),
                          .source_vocab_size = model.source_vocab_size(),
                          .context_length = model.context_length(),
                          .attentions = {},
                          .tokenizer = tokenizer_in(files, loaded.folder)};
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    information.parameters += parameter->shape().elements();
  }
  for (const nn::MultiHeadAttention* attention : model.attentions()) {
    information.attentions.emplace_back(attention->options().place, attention->options().heads);
  }
  return information;
}

io::Json json_of(const Information& information) {
  io::Json::Array attentions;
  for (const auto& [place, heads] : information.attentions) {
    attentions.emplace_back(io::Json::Object{{"name", place}, {"heads", heads}});
  }
  return io::Json::Object{
      {"model_type", information.type},
      {"parameters", information.parameters},
      {"vocab_size", information.vocab_size},
      {"source_vocab_size", information.source_vocab_size},
      {"context_length", information.context_length},
      {"tokenizer", information.tokenizer.empty() ? io::Json() : io::Json(information.tokenizer)},
      {"attentions", attentions},
      {"config", information.config}};
}

// "decoder.self: 2 layers of 4 heads", by kind of attention.
std::string attention_lines(const Information& information) {
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

std::string text_of(const Information& information) {
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
  const Information information = information_on(session.files, load_model(session));
  session.output.write(session.json ? io::json_text(json_of(information)) + "\n"
                                    : text_of(information));
}

}  // namespace

const Command kInfo = {"info",   "what a model directory holds",      kInfoExamples, {},
                       run_info, {.name = "MODEL", .required = false}};

}  // namespace headlight::cli
