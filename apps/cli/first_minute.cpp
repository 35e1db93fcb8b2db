// The first minute: where its page goes, how it is opened, and what follows at a terminal.
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "apps/cli/program/program.h"
#include "apps/cli/program/terminal.h"

extern char** environ;

namespace headlight::cli {
namespace {

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

bool has_desktop() {
  return isatty(STDOUT_FILENO) == 1 && variable("SSH_CONNECTION").empty() &&
         !(variable("DISPLAY").empty() && variable("WAYLAND_DISPLAY").empty() &&
           variable("BROWSER").empty());
}

// What opens pages: the first of those that the user prefers, or the desktop's.
std::string browser_program() {
  const std::string preferred = variable("BROWSER");
  return preferred.empty() ? "xdg-open" : preferred.substr(0, preferred.find(':'));
}

}  // namespace

// A home that cannot be written to, as many services have, is no reason to go without.
std::string cache_folder(base::FileSystem& files) {
  if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with('/')) {
    base::make_directories(files, cache + "/headlight");
    return cache + "/headlight";
  }
  if (const std::string home = variable("HOME"); home.starts_with('/')) {
    const std::string folder = home + "/.cache/headlight";
    try {
      base::make_directories(files, folder);
      base::check_files_can_be_made(files, folder);
      return folder;
    } catch (const base::Error&) {
    }
  }
  return fresh_folder();
}

void open_in_browser(const std::string& address) {
  if (!has_desktop()) return;
  std::string program = browser_program();
  std::string argument = address;
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

void run_first_minute(Session& session) {
  session.output.allow_colors();
  base::ThreadPool threads(session.threads);
  narrate::FirstMinuteOptions options{.language = chosen_language(session.arguments),
                                      .style = style_of_output(),
                                      .program = program_name()};
  if (session.arguments.has("seed")) options.seed = session.seed;
  narrate::FirstMinute minute(threads, options, [&](std::string_view text) {
    session.output.write(text);
    session.output.flush();
  });
  minute.run();
  const std::string folder = cache_folder(session.files);
  const std::string path = folder + "/walk.html";
  base::write_file(session.files, path, [&](base::Output& file) { minute.write_page(file); });
  minute.tell_page(path, program_name());
  const bool serves = isatty(STDOUT_FILENO) == 1 && !session.arguments.has(kNoServe.name);
  serves ? serve_after_first_minute(session, folder) : open_in_browser(path);
}

}  // namespace headlight::cli
