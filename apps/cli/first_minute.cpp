// The worked model before and after training, in the terminal and as a page.
#include "apps/cli/first_minute.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "apps/cli/explain_page.h"
#include "apps/cli/language.h"
#include "apps/cli/walk.h"
#include "headlight/recipes/recipes.h"

extern char** environ;

namespace headlight::cli {
namespace {

using explain::Catalogue;
using explain::Trace;

// The weight whose change the page explains.
constexpr std::string_view kWeight = "encoder.layers.0.self_attn.q_proj.weight[0,0]";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// One that nobody has used: what is not ours is never written over.
std::string fresh_folder() {
  std::error_code problem;
  std::filesystem::path path = std::filesystem::temp_directory_path(problem);
  if (!problem) path = std::filesystem::absolute(path, problem) / "headlight-XXXXXX";
  std::string name = path.string();  // mkdtemp fills in its end
  if (!problem && mkdtemp(name.data()) == nullptr) {
    problem = std::error_code(errno, std::generic_category());
  }
  if (problem) {
    throw base::Error(base::ErrorKind::failed, "temporary folder", name,
                      problem.message() + "; HOME or XDG_CACHE_HOME would name another place");
  }
  return name;
}

// Where the page goes; it is made.
std::string page_folder(base::FileSystem& files) {
  std::string folder;
  if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with('/')) {
    folder = cache + "/headlight";
  } else if (const std::string home = variable("HOME"); home.starts_with('/')) {
    folder = home + "/.cache/headlight";
  }
  if (folder.empty()) return fresh_folder();
  base::make_directories(files, folder);
  return folder;
}

bool has_desktop() {
  return isatty(STDOUT_FILENO) == 1 &&
         !(variable("DISPLAY").empty() && variable("WAYLAND_DISPLAY").empty());
}

// Without waiting; where it does not work, the page's place has been printed anyway.
void open_page(const std::string& path) {
  std::string program = "xdg-open";
  std::string argument = path;
  char* words[] = {program.data(), argument.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  }
  pid_t process = 0;
  posix_spawnp(&process, program.c_str(), &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
}

class FirstMinute {
 public:
  explicit FirstMinute(Session& session)
      : session_(session),
        catalogue_(Catalogue::of(chosen_language(session.arguments))),
        terminal_(terminal_of_output()),
        threads_(session.threads),
        worked_(recipes::make_worked_model(recipes::default_sentences(),
                                           {.heads = 2, .seed = session.seed})),
        page_({.language = std::string(catalogue_.language()),
               .text = pair().source,
               .sentences = worked_.sentences,
               .version = HEADLIGHT_VERSION}) {}

  void run() {
    say("first.intro");
    session_.output.write("\n");
    for (const recipes::SentencePair& one : worked_.sentences) {
      session_.output.write("  " + one.source + " → " + one.target + "\n");
    }
    session_.output.write("\n");
    say("message.text", {{"text", pair().source}});
    say("first.random", {{"words", continuation()}});
    add_untrained();
    train();
    say("first.trained", {{"words", continuation()}});
    show_trained();
    write_page();
  }

 private:
  const recipes::SentencePair& pair() const { return worked_.sentences.front(); }
  std::string continuation() {
    return recipes::continuation_of(threads_, *worked_.model, worked_.tokenizer, pair().source);
  }
  Trace trace() {
    const explain::Input input = explain::make_input(
        *worked_.model, worked_.tokenizer, {.text = pair().source, .target = pair().target});
    return explain::trace_model(threads_, *worked_.model, input);
  }
  // At once: what comes next may take a moment.
  void say(std::string_view key, const std::vector<explain::Placeholder>& values = {}) {
    session_.output.write(wrapped(catalogue_.text(key, values), terminal_.width));
    session_.output.flush();
  }

  void add_untrained() {
    Trace untrained = trace();
    const explain::BackwardWalk walk =
        explain::walk_backward(untrained, *worked_.model, explain::parse_cell(untrained, kWeight));
    page_.add(
        untrained, *worked_.model,
        {.key = "message.before_training", .continuation = continuation(), .backward = &walk});
  }

  // What it says at a few steps on the way.
  void train() {
    session_.output.write("\n");
    say("first.training");
    constexpr std::array<int64_t, 6> kShown = {1, 10, 20, 40, 80, 400};
    std::vector<std::vector<std::string>> lines = {{catalogue_.text("label.step"),
                                                    catalogue_.text("label.loss"),
                                                    catalogue_.text("label.continuation")}};
    const recipes::WorkedTraining training =
        recipes::train_worked_model(threads_, worked_, [&](int64_t step, double loss) {
          if (std::ranges::find(kShown, step) == kShown.end()) return;
          lines.push_back({std::to_string(step), catalogue_.number(loss, 3), continuation()});
        });
    session_.output.write("\n" + table_text(lines, terminal_.width) + "\n");
    say("message.trained", {{"steps", std::to_string(training.steps)},
                            {"seconds", catalogue_.number(training.seconds, 2)},
                            {"before", catalogue_.number(training.losses.front(), 4)},
                            {"after", catalogue_.number(training.losses.back(), 4)}});
    page_.set_losses(training.losses);
  }

  void show_trained() {
    Trace trained = trace();
    const Walk walk{.catalogue = catalogue_, .trace = trained};
    session_.output.write("\n" + step_text(terminal_, catalogue_, catalogue_.text("first.heads"),
                                           heads_step(walk, explain::head_statistics(trained))));
    page_.add(trained, *worked_.model,
              {.key = "message.after_training", .continuation = continuation()});
  }

  void write_page() {
    const std::string path = page_folder(session_.files) + "/walk.html";
    base::write_file(session_.files, path, [this](base::Output& file) { page_.write(file); });
    // Whole, so that it can be clicked on or copied.
    session_.output.write(catalogue_.text("first.page", {{"path", visible(path)}}) + "\n");
    say("first.next", {{"command", "headlight explain --help"}});
    session_.output.flush();
    if (has_desktop()) open_page(path);
  }

  Session& session_;
  const Catalogue& catalogue_;
  Terminal terminal_;
  base::ThreadPool threads_;
  recipes::WorkedModel worked_;
  Page page_;
};

}  // namespace

void run_first_minute(Session& session) { FirstMinute(session).run(); }

}  // namespace headlight::cli
