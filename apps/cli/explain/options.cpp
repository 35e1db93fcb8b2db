// One table of options, and what contradicts itself.
#include "apps/cli/explain/options.h"

#include <algorithm>
#include <array>

#include "apps/cli/program/arguments.h"
#include "apps/cli/program/places.h"
#include "apps/cli/program/terminal.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;
using narrate::ExplainFormat;
using narrate::ExplainRequest;
using narrate::kStepCount;

constexpr std::array<Option, 21> kExplainTable = {{
    {"text", "TEXT", "the sentence to follow; this or --ids is needed"},
    {"target", "TEXT", "what should follow it"},
    {"ids", "1,2,3", "the same as ids; needs no tokenizer"},
    {"target-ids", "4,5", "what should follow them"},
    {"continue", "N", "let the model continue for at most N tokens, and walk these too"},
    {"format", "NAME", "text, json, html or safetensors (default: as --out ends, or text)"},
    {"out", "FILE", "write there (needed for safetensors)"},
    {"only", "STEP,...", "these steps (7 or 3-5) or tensors (encoder.0.self.scores) alone"},
    {"cell", "CELL", "why a number is what it is; with --backward: the weight to explain"},
    {"layers", "N,...", "layers of a large model to show (default: 0)"},
    {"sentences", "FILE", "data set of the worked model: a sentence, a tab, its continuation"},
    {"heads", "N", "heads of the worked model (default: 2)"},
    {"head-width", "N", "their width (default: 4)"},
    {"width", "N", "width of the worked model, even (default: 6)"},
    {"weights", "FILE", "numbers of the worked model (.safetensors)"},
    {"train", "", "train the worked model, and show the numbers before and after"},
    {"backward", "", "the way from the loss to one weight, and its update"},
    {"scale", "NAME", "show scores scaled another way: sqrt_head_width, sqrt_width, width, none"},
    {"norm", "NAME", "where the norm stands: post or pre; the worked model is built that way"},
    {"special", "", "special tokens written in the text become those tokens"},
    {"encoding", "NAME", "of --sentences where it is not UTF-8: cp1254, cp949, ..."},
}};

[[noreturn]] void refuse_value(const std::string& option, const std::string& value,
                               const std::string& why) {
  throw Error(ErrorKind::usage, option, value.empty() ? "" : io::in_quotes(value), why);
}

void read_cell(const Arguments& arguments, ExplainRequest& request) {
  request.cell = arguments.text("cell");
  if (!request.cell) return;
  try {
    explain::check_cell(*request.cell);
  } catch (const Error& error) {
    throw error.with_kind(ErrorKind::usage);
  }
}

// "7", "3-5": into steps; anything else is a name.
void read_only(const Arguments& arguments, ExplainRequest& request) {
  const auto only = arguments.text("only");
  if (!only) return;
  const std::string source = arguments.source("only");
  for (const std::string& word : split_words(*only, ',')) {
    if (word.empty()) refuse_value(source, *only, "has an empty place between commas");
    if (word.find_first_not_of("0123456789-") != std::string::npos) {
      request.names.push_back(word);
      continue;
    }
    const size_t dash = word.find('-', 1);
    const int64_t first = integer_of(source, word.substr(0, dash), {1, kStepCount});
    const int64_t last = dash == std::string::npos
                             ? first
                             : integer_of(source, word.substr(dash + 1), {1, kStepCount});
    if (last < first) refuse_value(source, word, "the last step stands before the first");
    for (int64_t step = first; step <= last; ++step)
      request.steps.insert(narrate::step_numbered(static_cast<int>(step)));
  }
  if (!request.names.empty() && !request.steps.empty()) {
    refuse_value(source, *only, "give steps or names of tensors, not both");
  }
}

ExplainFormat format_of(const Session& session) {
  constexpr std::array<std::string_view, 4> kFormats = {"text", "json", "html", "safetensors"};
  const std::string name = document_format(session.arguments, kFormats);
  const auto place = std::find(kFormats.begin(), kFormats.end(), name);
  const auto format = static_cast<ExplainFormat>(place - kFormats.begin());
  return session.json ? ExplainFormat::json : format;
}

// What there is to read: a text, or ids.
void read_input(Arguments& arguments, ExplainRequest& request) {
  exclude(arguments, "text", "ids");
  exclude(arguments, "target", "ids");
  require_other(arguments, "target-ids", "ids", "after which it stands; --target goes with --text");
  exclude(arguments, "continue", "target");
  exclude(arguments, "continue", "target-ids");
  const auto ids_of = [&](const char* name) -> std::optional<std::vector<int64_t>> {
    const auto text = arguments.text(name);
    if (!text) return std::nullopt;
    return integers_of(arguments.source(name), *text, {0, INT64_MAX});
  };
  request.ids = ids_of("ids");
  request.target_ids = ids_of("target-ids");
  const auto text = arguments.text("text");
  if (!text && !request.ids) {
    refuse_value(
        "--text", "",
        "is missing: a sentence, e.g. `headlight explain --text \"When you play the game of "
        "thrones\" --target \"you win or you die\"`; --ids 1,2,3 gives a model its ids");
  }
  request.text = text.value_or("");
  request.target = arguments.text("target");
  if (text && text->empty()) {
    refuse_value(arguments.source("text"), "", "is empty: there is no word to follow");
  }
  if (request.target && request.target->empty()) {
    refuse_value(arguments.source("target"), "",
                 "is empty: without a known continuation, leave the option out");
  }
  request.continues = arguments.integer("continue", {0, INT64_MAX});
}

void read_worked(const Session& session, ExplainRequest& request) {
  Arguments& arguments = session.arguments;
  for (const char* name : {"heads", "head-width", "width", "weights", "sentences", "train"}) {
    exclude(arguments, name, "model",
            "is for the small worked model: leave MODEL out, or the option");
  }
  constexpr int64_t kMost = 1024;
  recipes::WorkedModelOptions& worked = request.worked;
  worked.heads = arguments.integer("heads", {1, kMost}).value_or(worked.heads);
  worked.head_width = arguments.integer("head-width", {1, kMost}).value_or(worked.head_width);
  worked.width = arguments.integer("width", {2, kMost}).value_or(worked.width);
  if (worked.width % 2 != 0) {
    refuse_value(arguments.source("width"), std::to_string(worked.width),
                 "must be even: sines and cosines come in pairs");
  }
  if (arguments.has("seed")) worked.seed = session.seed;
  request.weights = safetensors_path(arguments, "weights");
  request.sentences = arguments.text("sentences");
  request.train = arguments.has("train");
}

}  // namespace

const std::span<const Option> kExplainOptions = kExplainTable;

ExplainOptions read_explain_options(const Session& session) {
  Arguments& arguments = session.arguments;
  exclude(arguments, "cell", "only");
  ExplainOptions options;
  ExplainRequest& request = options.request;
  request.model = arguments.text("model");
  request.style = style_of_document(arguments);
  request.program = program_name();
  read_input(arguments, request);
  request.language = chosen_language(arguments);
  request.format = format_of(session);
  options.out = arguments.text("out");
  if (request.format == ExplainFormat::safetensors) {
    if (!options.out) refuse_value("--out", "", "is missing: safetensors are written to a file");
    safetensors_path(arguments, "out");
  }
  if (request.format == ExplainFormat::html) check_page_has_file(arguments, "walk.html");
  read_only(arguments, request);
  read_cell(arguments, request);
  if (const auto layers = arguments.text("layers")) {
    for (const int64_t layer : integers_of(arguments.source("layers"), *layers, {0, 9999})) {
      request.layers.insert(layer);
    }
  }
  read_worked(session, request);
  request.backward = arguments.has("backward");
  constexpr std::array<std::string_view, 4> kScales = {"sqrt_head_width", "sqrt_width", "width",
                                                       "none"};
  constexpr std::array<std::string_view, 2> kNorms = {"post", "pre"};
  if (arguments.has("scale"))
    request.variants.insert("scale." + arguments.choice("scale", kScales));
  if (arguments.has("norm")) request.variants.insert("norm." + arguments.choice("norm", kNorms));
  request.worked.pre_norm = request.variants.contains("norm.pre");
  request.special = arguments.has("special");
  request.worked.special = request.special;
  request.encoding = arguments.text("encoding").value_or("");
  return options;
}

}  // namespace headlight::cli
