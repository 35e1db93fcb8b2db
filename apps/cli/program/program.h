// The program: its commands, its settings, its exit codes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "apps/cli/program/arguments.h"
#include "apps/cli/program/output.h"
#include "apps/cli/program/rank_process.h"
#include "headlight/base/base.h"

namespace headlight::cli {

// What every command is given.
struct Session {
  Arguments& arguments;  // options that exclude each other are settled by the command
  StandardOutput& output;
  base::FileSystem& files;
  int threads = 1;
  uint64_t seed = 0;
  bool json = false;
  RankProcess* ranks = nullptr;  // where a launcher has started this process
  bool talkative = false;  // somebody reads standard error at a terminal and has not said --quiet
};

// The word that a command takes besides options, e.g. MODEL. Its value is that of the option of the
// same name in small letters, which has no dashes before it: arguments.text("model").
struct Operand {
  std::string_view name = {};  // "MODEL"; empty: the command takes none
  bool required = true;
  bool repeats = false;  // any number of words; arguments.words() has them all
};

// The file or folder of each command defines one of these; program.cpp lists them.
struct Command {
  std::string_view name;  // of a part of another command with that before it: "heads score"
  std::string_view summary;
  std::string_view examples;  // help begins with them
  std::span<const Option> options;
  void (*run)(Session& session);
  Operand operand = {};
  Operand second_operand = {};  // after the first
  // Whether ranks of a launcher share its work.
  bool runs_on_ranks = false;
  // What the next word chooses among; then the command does nothing itself.
  std::span<const Command* const> parts = {};

  // Without the names before it: "score".
  std::string_view last_name() const { return name.substr(name.rfind(' ') + 1); }
};
extern const Command kAttend;
extern const Command kTrain;
extern const Command kEvaluate;
extern const Command kBench;
extern const Command kTokenize;
extern const Command kForward;
extern const Command kInfo;
extern const Command kConvert;
extern const Command kGenerate;
extern const Command kChat;
extern const Command kTranslate;
extern const Command kEmbed;
extern const Command kClassify;
extern const Command kExplain;
extern const Command kLesson;
extern const Command kHeads;
extern const Command kServe;

// The first minute, when nothing is asked of the program: three sentences and a tiny model that
// does not know them; it learns them before one's eyes, its heads are drawn, and the whole walk is
// written as a page in the user's cache folder (or, without one, in a fresh folder among temporary
// files). Asks nothing, and takes a few seconds. At a terminal the server follows, unless
// --no-serve is given, and the browser is opened where there is a desktop.
void run_first_minute(Session& session);
// Tells the address, opens it and serves until a signal comes. `cache`: where jobs find a folder.
void serve_after_first_minute(Session& session, const std::string& cache);
// Headlight's folder in the user's cache, or a fresh one among temporary files; it is made.
std::string cache_folder(base::FileSystem& files);
// Without waiting, where there is a desktop; where that does not work, the place has been printed
// anyway.
void open_in_browser(const std::string& address);

// Options that every command has.
std::span<const Option> general_options();
// The one of the first minute, which has no command.
inline constexpr Option kNoServe = {"no-serve", "", "end after the first minute: no server"};
// Help, in lines of at most 80 columns, or fewer where the terminal has fewer: of the program, and
// of a command.
std::string overview(std::span<const Command* const> commands);
std::string help_of(const Command& command);

// The model that the command's operand names; `operand` is in small letters.
recipes::LoadedModel load_model(const Session& session, std::string_view operand = "model");
// The same for a command that runs it and does nothing else with it: it opens faster.
recipes::LoadedModel load_packed_model(const Session& session);

// The model's own way of writing, where the command line says nothing else.
void follow_generation_settings(const Session& session, const recipes::LoadedModel& loaded,
                                infer::SamplingOptions& sampling);

// The ranks that share the work; null: this process is alone.
ranks::Group* group_of(const Session& session);
// Of commands that run on several ranks.
inline constexpr Option kRankTimeout = {
    "rank-timeout", "SECONDS", "several ranks: without a sign of life one is gone (default: 60)"};
// The words that the program was started with, as one types them, and more options.
std::string typed_again(std::string_view more);

// Never throws; returns the exit code.
int run_program(int argc, char** argv);

}  // namespace headlight::cli
