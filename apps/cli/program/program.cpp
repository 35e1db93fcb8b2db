// From the command line to a command, and from an error to an exit code.
#include "apps/cli/program/program.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <new>
#include <optional>

#include "apps/cli/program/arguments.h"
#include "apps/cli/program/interruption.h"
#include "apps/cli/program/progress.h"
#include "apps/cli/program/terminal.h"
#include "headlight/io/io.h"
#include "headlight/kernels/kernels.h"
#include "headlight/narrate/narrate.h"
#include "headlight/recipes/recipes.h"
#include "headlight/text/text.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr std::array kCommands = {
    &kTrain, &kGenerate, &kChat,    &kTranslate, &kEvaluate, &kExplain, &kLesson, &kHeads, &kServe,
    &kEmbed, &kClassify, &kForward, &kTokenize,  &kInfo,     &kConvert, &kAttend, &kBench};

std::vector<std::string> started_with;  // without the program's name

constexpr int kFailed = 1;
constexpr int kOutOfMemory = 4;
struct ExitCode {
  ErrorKind kind;
  int code;
};
constexpr ExitCode kExitCodes[] = {{ErrorKind::usage, 2},
                                   {ErrorKind::bad_input, 3},
                                   {ErrorKind::out_of_memory, kOutOfMemory},
                                   {ErrorKind::failed, kFailed}};

// `within`: the command whose parts they are; null: the program itself.
const Command& command_called(std::string_view name, std::span<const Command* const> commands,
                              const Command* within = nullptr) {
  std::vector<std::string_view> names;
  for (const Command* command : commands) {
    if (command->last_name() == name) return *command;
    names.push_back(command->last_name());
  }
  std::string hint(within == nullptr ? recipes::answer_to_command(name) : "");
  if (const auto near = base::nearest(name, names); hint.empty() && near) {
    hint = "the nearest is " + std::string(*near);
  }
  const std::string of = within == nullptr ? "" : std::string(within->name) + " ";
  throw Error(ErrorKind::usage, "unknown " + (of.empty() ? "command" : of + "command"),
              io::in_quotes(name),
              hint + (hint.empty() ? "" : "; ") + "`headlight " + of + "--help` lists all");
}

// What is typed, taken apart.
struct Request {
  Arguments arguments;
  const Command* command = nullptr;
  std::vector<Option> known;
};

// --text "hello world", where several words are one value; shortened where they are many.
std::string in_quotes_after(const Option& option, const std::string& text) {
  constexpr int64_t kMostColumns = 40;
  return "--" + std::string(option.name) + " " +
         narrate::shell_quoted(narrate::cut_to(text::printable(text), kMostColumns));
}

// What a word was meant for that stands right after an option's value, or after a flag; empty where
// nothing can be told.
std::string meant_for_option(const ArgumentParser& parser, const std::string& word) {
  const Option* option = parser.option_before();
  if (option == nullptr) return "";
  const std::string name = "--" + std::string(option->name);
  if (option->value.empty()) {
    constexpr std::string_view kSwitches[] = {"true", "false", "yes", "no", "on", "off", "1", "0"};
    const bool is_switch =
        std::ranges::find(kSwitches, in_small_letters(word)) != std::end(kSwitches);
    return is_switch ? name + " takes no value: it is on where it is given" : "";
  }
  if (option->value == "TEXT") {
    return "several words are one value in quotes: " +
           in_quotes_after(*option, parser.text_so_far());
  }
  if (option->value.find(',') != std::string_view::npos) {
    return name + " takes numbers or names with commas and without blanks: " + name + " " +
           std::string(option->value);
  }
  const bool is_path = option->value == "FILE" || option->value == "PATH";
  return name + " takes one " + (is_path ? "file" : "value") +
         "; a name with blanks stands in quotes";
}

std::vector<Operand> operands_of(const Command& command) {
  std::vector<Operand> operands;
  for (const Operand& operand : {command.operand, command.second_operand}) {
    if (!operand.name.empty()) operands.push_back(operand);
  }
  return operands;
}

// `meant`: what the word was meant for, where that can be told.
[[noreturn]] void refuse_word(const Command& command, const std::string& word,
                              const std::string& meant) {
  if (!meant.empty()) {
    throw Error(ErrorKind::usage, "unexpected argument", io::in_quotes(word), meant);
  }
  // What is typed without an option is mostly a text or a file of it.
  const auto data = std::ranges::find(command.options, "data", &Option::name);
  const Option& first = data != command.options.end() ? *data
                        : command.options.empty()     ? general_options().front()
                                                      : command.options.front();
  std::string takes = command.operand.name.empty()
                          ? "takes only options"
                          : "takes one " + std::string(command.operand.name) +
                                (command.second_operand.name.empty()
                                     ? ""
                                     : ", one " + std::string(command.second_operand.name)) +
                                " and options";
  takes += ", such as --" + std::string(first.name) + (first.value.empty() ? "" : " ");
  throw Error(ErrorKind::usage, "unexpected argument", io::in_quotes(word),
              std::string(command.name) + " " + takes.append(first.value));
}

// Whether a word may name a model: something is there, or cannot be looked at.
bool may_be_model(const std::string& word) {
  base::FileSystem files;
  base::FileStatus status;
  const auto embedded = recipes::embedded_models();
  return files.path_status(word, status) != -ENOENT ||
         std::ranges::find(embedded, word) != embedded.end();
}

// Options up to the end, with the operands among them.
void read_operands(ArgumentParser& parser, Request& request) {
  const Command& command = *request.command;
  const std::vector<Operand> expected = operands_of(command);
  size_t found = 0;
  std::string meant;  // what else the operand may have been meant for
  std::string operand;
  while (const auto word = parser.next_word(request.arguments, request.known)) {
    if (*word == "help" && found == 0) {  // a folder of this name is ./help
      request.arguments.set("help", {"", "help"});
      continue;
    }
    const bool repeats = found > 0 && found == expected.size() && expected.back().repeats;
    if (repeats) --found;
    if (found == expected.size()) {
      refuse_word(command, *word, meant.empty() ? meant_for_option(parser, *word) : meant);
    }
    const std::string_view name = expected[found++].name;
    const Option* before = parser.option_before();
    if (name == "MODEL" && before != nullptr && before->value == "TEXT" && !may_be_model(*word)) {
      meant = meant_for_option(parser, *word);
    }
    operand = *word;
    request.arguments.add_word(*word);
    request.arguments.set(in_small_letters(name), {*word, std::string(name)});
  }
  const bool asks = request.arguments.has("help") || request.arguments.has("version");
  if (!meant.empty() && !asks) {
    base::refuse("model", operand, "there is no such file or folder; " + meant);
  }
  if (found == expected.size() || !expected[found].required || asks) return;
  std::string usage(command.name);
  for (const Operand& one : expected) usage += " " + std::string(one.name);
  throw Error(ErrorKind::usage, std::string(expected[found].name), "",
              "is missing: `headlight " + usage + "`; `headlight " + std::string(command.name) +
                  " --help` has examples");
}

// Of a command with parts, the one that the next word names; the command itself where there is no
// word and help is asked for.
void choose_part(ArgumentParser& parser, Request& request) {
  const Command& whole = *request.command;
  std::optional<std::string> word = parser.next_word(request.arguments, request.known);
  if (word == "help") {
    request.arguments.set("help", {"", "help"});
    word = parser.next_word(request.arguments, request.known);
  }
  if (word) {
    request.command = &command_called(*word, whole.parts, &whole);
    return;
  }
  if (request.arguments.has("help") || request.arguments.has("version")) return;
  std::string names;
  for (const Command* part : whole.parts)
    names.append(names.empty() ? "" : ", ").append(part->last_name());
  throw Error(ErrorKind::usage, std::string(whole.name), "",
              "what is to be done is missing: " + names + "; `headlight " +
                  std::string(whole.name) + " --help` has examples");
}

Request read_request(std::span<char* const> words) {
  Request request;
  request.known.assign(general_options().begin(), general_options().end());
  request.known.push_back(kNoServe);
  ArgumentParser parser(words);
  std::optional<std::string> word = parser.next_word(request.arguments, request.known);
  if (word == "help") {
    request.arguments.set("help", {"", "help"});
    word = parser.next_word(request.arguments, request.known);
    if (word == "help" || word == "version") return request;
  } else if (word == "version") {
    request.arguments.set("version", {"", "version"});
    return request;
  }
  if (!word) {
    // The first minute, in any language and with any seed; it is to be read, not to be parsed.
    const bool asks = request.arguments.has("help") || request.arguments.has("version");
    if (asks || !request.arguments.has("json")) return request;
    throw Error(ErrorKind::usage, "command", "", "is missing; `headlight --help` lists all");
  }
  request.command = &command_called(*word, kCommands);
  request.arguments.set_command(request.command->name);
  request.known.pop_back();
  if (request.arguments.has(kNoServe.name)) {
    throw Error(ErrorKind::usage, "--no-serve", "", "is for `headlight` without a command");
  }
  if (!request.command->parts.empty()) choose_part(parser, request);
  request.arguments.set_command(request.command->name);
  request.known.insert(request.known.begin(), request.command->options.begin(),
                       request.command->options.end());
  read_operands(parser, request);
  return request;
}

// --rank-timeout; nothing where it is not given.
std::optional<std::chrono::duration<double>> asked_rank_timeout(const Arguments& arguments) {
  constexpr double kDay = 86400;
  const auto seconds = arguments.real(kRankTimeout.name, {1, kDay});
  return seconds ? std::optional(std::chrono::duration<double>(*seconds)) : std::nullopt;
}

// How long the ranks have to come together. What is wrong with the request is told when they have,
// once for all.
std::chrono::duration<double> time_to_connect(std::span<char* const> words) {
  const std::chrono::duration<double> usual = ranks::MessengerOptions{}.timeout;
  try {
    Request request = read_request(words);
    read_environment(request.arguments, request.known);
    return asked_rank_timeout(request.arguments).value_or(usual);
  } catch (const Error&) {
    return usual;
  }
}

// Ranks that are asked for different things would wait for each other.
void check_same_command(const Request& request, RankProcess& ranks) {
  std::string asked(request.command == nullptr ? "none" : request.command->name);
  for (const std::string_view question : {"help", "version"}) {
    if (request.arguments.has(question)) asked.append(" --").append(question);
  }
  ranks::check_same(ranks.group(), {{.name = "the command", .value = asked}}, ErrorKind::usage);
}

// What is told of ranks on the command line, before anything is done on them.
void prepare_ranks(const Request& request, RankProcess& ranks, base::FileSystem& files) {
  if (ranks.group().count() > 1 &&
      (request.command == nullptr || !request.command->runs_on_ranks)) {
    throw Error(ErrorKind::usage,
                request.command == nullptr ? "ranks" : std::string(request.command->name),
                std::to_string(ranks.group().count()) + " ranks",
                "it runs alone: start it without a launcher; train, evaluate, bench and the "
                "experiments of heads run on several ranks");
  }
  if (const auto timeout = asked_rank_timeout(request.arguments))
    ranks.messenger().set_timeout(*timeout);
  ranks.check_same_program(files);
}

// Each of them would train the same model, and write into the same folder.
void check_not_unconnected(const Request& request) {
  const int processes = ranks::unconnected_processes();
  if (processes == 1 || request.command != &kTrain) return;
  throw Error(ErrorKind::usage, "train", "srun",
              "has started " + std::to_string(processes) +
                  " processes that do not know of each other; `srun --mpi=pmix` or `mpirun` makes "
                  "them ranks of one run, and `env -u SLURM_STEP_NUM_TASKS headlight train` runs "
                  "that have nothing to do with each other");
}

void run_command(Request& request, StandardOutput& output, RankProcess* ranks) {
  Arguments& arguments = request.arguments;
  // --json is --format json, where there are formats.
  if (arguments.text("format") != "json") exclude(arguments, "format", "json");
  const auto threads = arguments.integer("threads", {1, base::ThreadPool::kMaxThreads})
                           .value_or(ranks != nullptr ? ranks->default_threads()
                                                      : base::ThreadPool::available_cores());
  const auto seed = arguments.integer("seed", {0, INT64_MAX}).value_or(0);
  if (arguments.has("lang")) arguments.choice("lang", narrate::languages());
  if (arguments.has("simd")) {
    kernels::limit_simd(arguments.choice("simd", kernels::simd_names()));
  }
  InterruptibleFiles files;
  if (ranks == nullptr) check_not_unconnected(request);
  if (ranks != nullptr) prepare_ranks(request, *ranks, files);
  Session session{.arguments = arguments,
                  .output = output,
                  .files = files,
                  .threads = static_cast<int>(threads),
                  .seed = static_cast<uint64_t>(seed),
                  .json = arguments.has("json"),
                  .ranks = ranks,
                  .talkative = !arguments.has("quiet") && isatty(STDERR_FILENO) == 1};
  request.command == nullptr ? run_first_minute(session) : request.command->run(session);
}

void run_words(std::span<char* const> words, RankProcess* ranks) {
  StandardOutput output;
  Request request = read_request(words);
  if (ranks != nullptr) check_same_command(request, *ranks);
  if (request.arguments.has("version")) {
    output.write("headlight " HEADLIGHT_VERSION "\n");
  } else if (request.arguments.has("help")) {
    output.write(request.command == nullptr ? overview(kCommands) : help_of(*request.command));
  } else {
    read_environment(request.arguments, request.known);
    run_command(request, output, ranks);
  }
  output.flush();
}

int exit_code(ErrorKind kind) {
  for (const ExitCode& entry : kExitCodes) {
    if (entry.kind == kind) return entry.code;
  }
  return kFailed;
}

// The line that is told, if any, and the exit code.
struct Ending {
  std::string line;
  int exit_code = kFailed;
};

Ending ending_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return {in_its_name(error.what()), exit_code(error.kind())};
  } catch (const ReaderGone&) {
    // Mostly the terminal has gone, and the signal has come with it.
    return {"", waiting_signal() == 0 ? kFailed : exit_code_of(waiting_signal())};
  } catch (const std::bad_alloc&) {
    return {"memory: there is not enough", kOutOfMemory};
  } catch (const std::exception& error) {
    return {in_its_name(Error(ErrorKind::failed, "internal error", "", error.what()).what())};
  }
}

recipes::LoadedModel read_model(const Session& session, const std::string& name, bool packed) {
  const Progress progress(session, command_text(session, "command.progress.reading",
                                                {{"name", narrate::visible(name)}}));
  return recipes::load_named_model(session.files, name, packed, session.threads);
}

recipes::LoadedModel read_operand(const Session& session, std::string_view operand, bool packed) {
  recipes::LoadedModel loaded =
      read_model(session, session.arguments.text(operand).value(), packed);
  if (!session.arguments.has("quiet")) {
    for (const std::string& note : loaded.notes) {
      print_line("headlight: note: " + text::printable(loaded.folder + ": " + note));
    }
  }
  return loaded;
}

}  // namespace

recipes::LoadedModel load_model(const Session& session, std::string_view operand) {
  return read_operand(session, operand, false);
}

recipes::LoadedModel load_packed_model(const Session& session) {
  return read_operand(session, "model", true);
}

void follow_generation_settings(const Session& session, const recipes::LoadedModel& loaded,
                                infer::SamplingOptions& sampling) {
  const models::GenerationSettings settings =
      models::read_generation_settings(session.files, loaded.folder);
  if (!session.arguments.has("repetition-penalty")) {
    sampling.repetition_penalty = settings.repetition_penalty;
  }
}

ranks::Group* group_of(const Session& session) {
  return session.ranks == nullptr ? nullptr : &session.ranks->group();
}

std::string typed_again(std::string_view more) {
  // Behind "--" there are no options.
  const auto end = std::ranges::find(started_with, "--");
  std::string command = program_name();
  const auto add = [&](const std::string& word) { command += " " + narrate::shell_quoted(word); };
  std::for_each(started_with.begin(), end, add);
  if (!more.empty()) command.append(" ").append(more);
  std::for_each(end, started_with.end(), add);
  return command;
}

int run_program(int argc, char** argv) {
  prepare_process();
  const auto words = std::span(argv, static_cast<size_t>(argc)).subspan(argc > 0 ? 1 : 0);
  started_with.assign(words.begin(), words.end());
  std::unique_ptr<RankProcess> ranks;
  const auto end = [&ranks](const Ending& ending) {
    if (ranks) ranks->fail(ending.line, ending.exit_code);
    erase_progress();
    if (!ending.line.empty()) print_line("headlight: " + text::printable(ending.line));
    return ending.exit_code;
  };
  try {
    if (const auto launch = ranks::launch_of_this_process())
      ranks = RankProcess::start(*launch, time_to_connect(words));
    run_words(words, ranks.get());
    if (ranks) ranks->leave();
    return 0;
  } catch (...) {
    return end(ending_of(std::current_exception()));
  }
}

}  // namespace headlight::cli
