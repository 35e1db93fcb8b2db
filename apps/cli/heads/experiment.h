// What the commands of `headlight heads` share: their data, and the documents that they write.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "apps/cli/program/interruption.h"
#include "apps/cli/program/program.h"
#include "apps/cli/program/progress.h"
#include "headlight/narrate/narrate.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {

extern const Command kHeadsScore;
extern const Command kHeadsAblate;
extern const Command kHeadsFind;
extern const Command kHeadsAttribute;
extern const Command kHeadsPatch;
extern const Command kHeadsGates;
extern const Command kHeadsPrune;
extern const Command kHeadsCurve;
extern const Command kHeadsBench;

inline constexpr std::array<Option, 3> kDocumentOptions = {{
    {"csv", "", "print CSV"},
    {"svg", "FILE", "write the pictures, for print or screen"},
    {"html", "FILE", "write one page for the browser, in four languages"},
}};
inline constexpr std::array<Option, 1> kFolderOptions = {{
    {"out", "DIR", "write all of it there: result.json, .csv, .svg and .html"},
}};
inline constexpr std::array<Option, 1> kResumeOptions = {{
    {"resume", "", "go on with the experiment in --out"},
}};
inline constexpr std::array<Option, 4> kExampleOptions = {{
    {"data", "PATH", "a text, or tab-separated pairs for an encoder-decoder"},
    {"task", "NAME", "lm, mlm, translate, numbers, copy or reverse (default: by the model)"},
    {"examples", "N", "how many, drawn by --seed (default: 128)"},
    {"encoding", "NAME", "of the data, when not UTF-8"},
}};
inline constexpr std::array<Option, 2> kIdOptions = {{
    {"ids", "FILE", "ids, (N,T), instead of --data: each row is an example"},
    {"targets", "FILE", "with --ids: what is right, -1 does not count (default: next)"},
}};

inline constexpr std::array<Option, 1> kRankOptions = {{kRankTimeout}};

// Several tables of options as one.
template <size_t... kSizes>
constexpr auto joined_options(const std::array<Option, kSizes>&... tables) {
  std::array<Option, (kSizes + ...)> all{};
  size_t at = 0;
  (
      [&] {
        for (const Option& option : tables) all[at++] = option;
      }(),
      ...);
  return all;
}

// The examples that --data, --task, --ids, --targets, --examples, --encoding and --seed name.
// Throws Error(usage) for what the command line alone shows to be wrong; `needed`: so is naming
// none.
recipes::ExamplesRequest read_examples(Session& session, bool needed = false);

// What --out is: a new folder for the results, one in which an experiment may go on, or that of a
// model.
enum class OutFolder { results, resumed, model };

// Whether this process reads and writes folders and prints results: alone, or the first of several
// ranks.
bool is_first_rank(const Session& session);
// Of several ranks, before they share work: throws Error(usage) where they were asked for different
// things, Error(bad_input) where their models or files differ. `options`: of the command;
// `examples`: what it reads, whose bytes count.
void check_same_on_ranks(Session& session, std::span<const Option> options,
                         const recipes::LoadedModel& loaded,
                         const recipes::ExamplesRequest& examples = {});

// Where results of an experiment go: standard output as text, JSON or CSV, and files. The first
// rank writes them.
class ExperimentDocuments {
 public:
  // Settles the options, and checks that files can be written. `reads`: options that name files the
  // experiment reads.
  ExperimentDocuments(Session& session, std::vector<std::string_view> reads,
                      OutFolder out = OutFolder::results);

  // Whether sentences with what heads look at are of use.
  bool has_page() const;
  // --out, where that is the folder of the results; else empty.
  const std::string& folder() const { return folder_; }
  bool resumes() const { return session_.arguments.has("resume"); }
  void write(const narrate::Report& report, const io::Json& result);

 private:
  void write_file(const std::string& path, const std::string& text);
  void write_page(const std::string& path, const narrate::Report& report);
  void say_written(const std::string& path, bool is_page) const;

  Session& session_;
  std::string folder_;
};

// How far work is, for Progress; and whether it is to stop. Several ranks share it.
heads::Watch watch_of(const Session& session, Progress& progress,
                      std::function<bool()> interrupted = {});

// Saves what is finished of work that was interrupted, and says how to go on.
void save_interrupted(Session& session, recipes::ExperimentState& state);

// While one lives, a signal to this process or to another rank waits until work is saved.
class UntilSaved {
 public:
  explicit UntilSaved(const Session& session);

  bool is_signalled() const { return signals_.is_signalled(); }

 private:
  Uninterrupted signals_;
  std::optional<RankProcess::Saving> on_ranks_;
};
// Ends all ranks, where there are several, after what was interrupted is saved.
void leave_interrupted(const Session& session);

// Long work that is kept in the folder of the documents: a signal waits until it is saved.
class SavedWork {
 public:
  SavedWork(const Session& session, const ExperimentDocuments& documents);

  bool is_interrupted() const { return until_saved_ && until_saved_->is_signalled(); }
  // Saves what is finished; false when the work was interrupted, which is told and ends several
  // ranks.
  bool finish(Session& session, recipes::ExperimentState& state, bool interrupted);

 private:
  std::optional<UntilSaved> until_saved_;  // nothing is kept without a folder
};

// What is wrong once a model is known does not follow from the command line alone.
template <class Work>
auto with_model(const Work& work) {
  try {
    return work();
  } catch (const base::Error& error) {
    if (error.kind() != base::ErrorKind::usage) throw;
    throw error.with_kind(base::ErrorKind::bad_input);
  }
}

// The name of MODEL as a report shows it.
std::string shown_model(const Session& session);

// What heads look at in some of the examples.
std::vector<narrate::ReportSentence> sentences_of(Session& session, base::ThreadPool& threads,
                                                  const recipes::LoadedModel& loaded,
                                                  const heads::Examples& examples);

}  // namespace headlight::cli
