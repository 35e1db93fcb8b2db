// Options that experiments share, and their documents.
#include "apps/cli/heads/experiment.h"

#include "apps/cli/program/places.h"
#include "apps/cli/program/terminal.h"
#include "headlight/train/train.h"

namespace headlight::cli {

using base::Error;
using base::ErrorKind;

recipes::ExamplesRequest read_examples(Session& session, bool needed) {
  Arguments& arguments = session.arguments;
  recipes::ExamplesRequest request{.seed = session.seed};
  for (const std::string_view option : {"data", "task", "encoding"})
    exclude(arguments, option, "ids", "has no meaning: the examples are those of --ids");
  require_other(arguments, "targets", "ids", "for which they are right");
  if (arguments.has("task")) request.task = arguments.choice("task", recipes::kTasks);
  const bool makes_data =
      request.task == "numbers" || request.task == "copy" || request.task == "reverse";
  if (makes_data) {
    for (const std::string_view option : {"data", "encoding"})
      exclude(arguments, option, "task", "task " + request.task + " makes its own data");
  }
  const bool lacks_data = !makes_data && !arguments.has("data") && !arguments.has("ids");
  if (lacks_data && (needed || !request.task.empty())) {
    throw Error(ErrorKind::usage, "--data", "",
                "is missing: --data PATH, or --task numbers, copy or reverse, which make their "
                "own; `headlight " +
                    arguments.command() + " --help` has examples");
  }
  require_other(arguments, "encoding", "data", "whose encoding it is");
  request.data = arguments.text("data").value_or("");
  request.encoding = arguments.text("encoding").value_or("");
  request.ids = array_place(arguments, "ids").value_or("");
  request.targets = array_place(arguments, "targets").value_or("");
  constexpr int64_t kMostExamples = 1'000'000;
  request.examples = arguments.integer("examples", {1, kMostExamples}).value_or(0);
  return request;
}

ExperimentDocuments::ExperimentDocuments(Session& session, std::vector<std::string_view> reads,
                                         OutFolder out)
    : session_(session) {
  Arguments& arguments = session.arguments;
  exclude(arguments, "csv", "json");
  require_other(arguments, "resume", "out", "the folder of the experiment to go on with");
  const bool is_first = is_first_rank(session);
  if (is_first) {
    check_outputs(session.files, arguments,
                  {.inputs = std::move(reads), .outputs = {"svg", "html"}});
  }
  if (out == OutFolder::model && !arguments.has("out")) {
    throw Error(ErrorKind::usage, "--out", "",
                "is missing: --out DIR, a new folder for the model; `headlight " +
                    arguments.command() + " --help` has examples");
  }
  if (!arguments.has("out")) return;
  if (out == OutFolder::model) {
    if (is_first)
      recipes::check_new_folder(session.files, *arguments.text("out"), arguments.source("out"));
    return;
  }
  folder_ = *arguments.text("out");
  if (is_first && out == OutFolder::results && base::exists(session.files, folder_)) {
    throw Error(ErrorKind::bad_input, arguments.source("out"), folder_,
                "is there already; give another name");
  }
}

bool ExperimentDocuments::has_page() const {
  return is_first_rank(session_) && (session_.arguments.has("html") || !folder_.empty());
}

void ExperimentDocuments::say_written(const std::string& path, bool is_page) const {
  if (session_.arguments.has("quiet")) return;
  base::FileStatus status;
  session_.files.path_status(path, status);
  const narrate::Catalogue& catalogue = catalogue_of(session_.arguments);
  print_line(catalogue.text(
      is_page ? "message.written_page" : "message.written",
      {{"path", narrate::visible(path)}, {"size", narrate::size_text(catalogue, status.size)}}));
}

void ExperimentDocuments::write_file(const std::string& path, const std::string& text) {
  {
    const Uninterrupted file_is_written;
    base::write_file(session_.files, path, text);
  }
  say_written(path, false);
}

void ExperimentDocuments::write_page(const std::string& path, const narrate::Report& report) {
  {
    const Uninterrupted file_is_written;
    base::write_file(session_.files, path, [&](base::Output& output) {
      narrate::write_report_page(output, report, chosen_language(session_.arguments));
    });
  }
  say_written(path, true);
}

void ExperimentDocuments::write(const narrate::Report& report, const io::Json& result) {
  if (!is_first_rank(session_)) return;
  const Arguments& arguments = session_.arguments;
  const narrate::Catalogue& catalogue = catalogue_of(arguments);
  const std::string json = io::json_text(result) + "\n";
  if (!folder_.empty()) {
    base::make_directories(session_.files, folder_);
    write_file(folder_ + "/result.json", json);
    write_file(folder_ + "/result.csv", narrate::report_csv(report));
    write_file(folder_ + "/result.svg", narrate::report_svg(report, catalogue));
    write_page(folder_ + "/result.html", report);
  }
  if (const auto path = arguments.text("svg"))
    write_file(*path, narrate::report_svg(report, catalogue));
  if (const auto path = arguments.text("html")) write_page(*path, report);
  if (session_.json) return session_.output.write(json);
  if (arguments.has("csv")) return session_.output.write(narrate::report_csv(report));
  session_.output.allow_colors();
  session_.output.write(narrate::report_text(report, style_of_output(), catalogue));
}

namespace {

// Of the file, and which array of it is meant where it holds arrays.
std::string pairs_sum(base::FileSystem& files, const std::string& pairs, bool is_array) {
  if (!is_array) return train::file_sum(files, pairs);
  const io::ArrayPlace place = io::split_place(pairs);
  return train::file_sum(files, place.path) + ":" + place.name;
}

}  // namespace

bool is_first_rank(const Session& session) {
  return session.ranks == nullptr || session.ranks->group().is_first();
}

void check_same_on_ranks(Session& session, std::span<const Option> options,
                         const recipes::LoadedModel& loaded,
                         const recipes::ExamplesRequest& examples) {
  if (session.ranks == nullptr || session.ranks->group().is_alone()) return;
  const Arguments& arguments = session.arguments;
  recipes::SharedRequest request;
  for (auto& fact : recipes::examples_json(session.files, examples)) {
    const bool is_file = fact.first == "data" || fact.first == "ids" || fact.first == "targets";
    (is_file ? request.read : request.asked).push_back(std::move(fact));
  }
  for (const Option& option : options) {
    // Of files the bytes count, of folders only the first rank's.
    const bool is_file = option.value == "FILE" || option.value == "PATH";
    if (is_file || option.name == kRankTimeout.name || !arguments.has(option.name)) continue;
    request.asked.emplace_back("--" + std::string(option.name),
                               option.value == "DIR" ? "" : *arguments.text(option.name));
  }
  if (const auto pairs = arguments.text("pairs"))
    request.read.emplace_back("pairs", pairs_sum(session.files, *pairs, arguments.has("ids")));
  recipes::check_same_request(session.ranks->group(), session.files, loaded, request);
}

heads::Watch watch_of(const Session& session, Progress& progress,
                      std::function<bool()> interrupted) {
  const heads::Watch own{.progress = [&progress](double share) { progress.reached(share); },
                         .interrupted = std::move(interrupted)};
  return session.ranks == nullptr ? own : recipes::spread_over(session.ranks->group(), own);
}

UntilSaved::UntilSaved(const Session& session) {
  if (session.ranks != nullptr) on_ranks_.emplace(*session.ranks);
}

void leave_interrupted(const Session& session) {
  if (session.ranks != nullptr) session.ranks->leave_interrupted();
}

SavedWork::SavedWork(const Session& session, const ExperimentDocuments& documents) {
  if (!documents.folder().empty()) until_saved_.emplace(session);
}

void save_interrupted(Session& session, recipes::ExperimentState& state) {
  state.save();
  if (!session.arguments.has("quiet"))
    say_line(session, "command.heads.interrupted", {{"parts", std::to_string(state.finished())}});
}

bool SavedWork::finish(Session& session, recipes::ExperimentState& state, bool interrupted) {
  if (interrupted) {
    save_interrupted(session, state);
    leave_interrupted(session);
  } else {
    state.save();
    until_saved_.reset();
  }
  return !interrupted;
}

std::string shown_model(const Session& session) { return session.arguments.text("model").value(); }

std::vector<narrate::ReportSentence> sentences_of(Session& session, base::ThreadPool& threads,
                                                  const recipes::LoadedModel& loaded,
                                                  const heads::Examples& examples) {
  const auto tokenizer = recipes::find_tokenizer(session.files, loaded);
  return narrate::report_sentences(threads, *loaded.model, tokenizer ? &*tokenizer : nullptr,
                                   examples);
}

}  // namespace headlight::cli
