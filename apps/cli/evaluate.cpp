// `headlight evaluate`: how good a model is on data.
#include "apps/cli/program/progress.h"
#include "apps/cli/program/terminal.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::string_view kEvaluateExamples =
    R"(  headlight evaluate shakespeare --data other-plays.txt
      loss and perplexity of a GPT over a whole text, in windows that do not overlap
  headlight evaluate bert --data other-plays.txt
      the same of an encoder over words that are hidden, in each window the same ones every time
  headlight evaluate en-tr --data pairs.tsv --json
      loss, perplexity, BLEU and chrF of the translations
  headlight evaluate numbers --task numbers
      how many held-out cases of a made-up task are exactly right; numbers
      are asked for in each way of writing them

Losses are natural-log, mean per target token. BLEU and chrF are sacreBLEU's.
)";

constexpr Option kEvaluateOptions[] = {
    {"data", "PATH", "a text, or tab-separated pairs for an encoder-decoder"},
    {"task", "NAME", "lm, mlm, translate, numbers, copy or reverse (default: by the model)"},
    {"beam", "N", "translate with this many beams (default: greedily)"},
    {"length-penalty", "A", "of beam scores (default: 1)"},
    {"encoding", "NAME", "of the text, when not UTF-8"},
    kRankTimeout,
};

// What can be seen before a model is read.
void settle_evaluation(Arguments& arguments) {
  const std::string task = arguments.has("task") ? arguments.choice("task", recipes::kTasks) : "";
  const bool makes_data = !task.empty() && recipes::is_generated_task(task);
  if (makes_data) {
    for (const std::string_view option : {"data", "encoding"})
      exclude(arguments, option, "task", "task " + task + " makes its own data");
  }
  if (!task.empty() && task != "translate")
    exclude(arguments, "beam", "task", "has no meaning for task " + task);
  const bool needs_data = !makes_data || !arguments.has("task");
  if (needs_data && !arguments.has("data"))
    throw Error(
        ErrorKind::usage, "--data", "",
        "is missing: --data PATH, or --task of a made-up one, such as copy; `headlight evaluate "
        "--help` has examples");
  recipes::read_search_options(arguments);  // wrong numbers are told before a model is read
}

// What a fact is called; how right the cases of one kind are is "exact_match_tr".
std::string fact_label(const narrate::Catalogue& catalogue, const std::string& name) {
  constexpr std::string_view kOfKind = "exact_match_";
  if (name.starts_with(kOfKind)) {
    return catalogue.text("evaluate.exact_match_of_kind", {{"kind", name.substr(kOfKind.size())}});
  }
  return catalogue.text("evaluate." + name);
}

// "en hyphens   1000/1000   500/500 ...": a line for each way of writing, a column for each part of
// the exam.
std::string forms_text(const narrate::Catalogue& catalogue, const io::Json::Array& forms) {
  constexpr std::string_view kParts[] = {"held_out", "six_digits", "tried", "below_10000"};
  std::vector<std::vector<std::string>> lines(1, {""});
  for (const std::string_view part : kParts)
    lines[0].push_back(catalogue.text("evaluate.part." + std::string(part)));
  for (const io::Json& form : forms) {
    auto& line = lines.emplace_back();
    line.push_back(*form.find("language")->text() + " " + *form.find("form")->text());
    for (const std::string_view part : kParts) {
      const io::Json* count = form.find(part);
      line.push_back(count == nullptr ? ""
                                      : io::json_text(*count->find("right")) + "/" +
                                            io::json_text(*count->find("cases")));
    }
  }
  return "\n" + narrate::table_of_numbers(lines, columns_of_table());
}

std::string evaluation_text(const narrate::Catalogue& catalogue, const io::Json::Object& facts) {
  std::string text;
  for (const auto& [name, value] : facts) {
    if (name == "forms") {
      text += forms_text(catalogue, *value.array());
      continue;
    }
    const std::string number =
        value.integer()
            ? io::json_text(value)
            : narrate::with_decimal(fixed_text(*value.number(), 4), catalogue.decimal());
    text += narrate::padded(fact_label(catalogue, name), 18) + number + "\n";
  }
  return text;
}

void run_evaluate(Session& session) {
  Arguments& arguments = session.arguments;
  settle_evaluation(arguments);
  const recipes::LoadedModel loaded = load_packed_model(session);
  recipes::EvaluationRequest request{
      .task = recipes::evaluation_task(loaded, arguments.text("task").value_or("")),
      .data = arguments.text("data").value_or(""),
      .encoding = arguments.text("encoding").value_or(""),
      .search = recipes::read_search_options(arguments),
      .group = group_of(session)};
  if (request.search && request.task != "translate" && arguments.level("beam") == Level::request) {
    throw Error(ErrorKind::bad_input, arguments.source("beam"), "",
                "has no meaning for task " + request.task + ", which the model is for");
  }
  base::ThreadPool threads(session.threads);
  const auto work = [&] {
    Progress progress(session, command_text(session, "command.progress.evaluating"));
    request.progress = [&](double share) { progress.reached(share); };
    return recipes::evaluate(threads, session.files, loaded, request);
  };
  const io::Json::Object facts = recipes::evaluation_json(work());
  if (session.json) {
    session.output.write(io::json_text(facts) + "\n");
    return;
  }
  session.output.write(evaluation_text(narrate::Catalogue::of(chosen_language(arguments)), facts));
}

}  // namespace

const Command kEvaluate = {.name = "evaluate",
                           .summary = "how good a model is on data",
                           .examples = kEvaluateExamples,
                           .options = kEvaluateOptions,
                           .run = run_evaluate,
                           .operand = {"MODEL"},
                           .runs_on_ranks = true};

}  // namespace headlight::cli
