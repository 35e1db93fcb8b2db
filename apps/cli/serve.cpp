// `headlight serve`: the studio, its API and OpenAI's, until a signal comes; and the same after the
// first minute.
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "apps/cli/program/interruption.h"
#include "apps/cli/program/places.h"
#include "apps/cli/program/program.h"
#include "apps/cli/program/progress.h"
#include "apps/cli/program/terminal.h"
#include "apps/server/server.h"
#include "headlight/io/io.h"
#include "headlight/text/text.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

constexpr int64_t kPort = 8080;
// After it, what still computes is left where it is: a signal ends the program within two seconds.
constexpr double kStopSeconds = 1.5;

constexpr std::string_view kServeExamples =
    R"(  headlight serve
      all models that come with the program, at http://127.0.0.1:8080/
  headlight serve MODEL OTHER --port 9000
      these models, on another port; --port 0 takes any free one
  headlight serve MODEL --host 0.0.0.0 --api-key-file key.txt
      for other machines too: whoever has the key of the file may ask
  headlight serve MODEL --work runs
      jobs, and the folders that they write, go to the folder runs
  curl http://127.0.0.1:8080/v1/models
      what is served, as programs for OpenAI's API ask; http://127.0.0.1:8080/v1 is their base URL

The address is printed as one line. /health answers while the server lives, /metrics counts for Prometheus, and each request is a
line on standard error unless --quiet is given. Only this machine is listened to unless --host says otherwise; then requests need
"Authorization: Bearer KEY". Ctrl-C or SIGTERM ends it: jobs save what they have done, all else is dropped.

--json:
    {"url":"http://127.0.0.1:8080/","port":8080}
)";

constexpr Option kServeOptions[] = {
    {"host", "NAME", "where to listen (default: 127.0.0.1, this machine alone)"},
    {"port", "N", "the port; 0 takes any free one (default: 8080)"},
    {"api-key-file", "FILE",
     "the key that requests need is in this file; a must for other machines"},
    {"allow-host", "NAME,NAME", "names besides its own that clients may know the server by"},
    {"work", "DIR", "where jobs and the folders they write go (default: in the cache folder)"},
    {"workers", "N", "requests that are worked on at a time (default: 4)"},
    {"max-queue", "N", "requests that may wait for that; more get 503 (default: 256)"},
    {"max-connections", "N", "clients at a time (default: 256)"},
    {"header-timeout", "SECONDS", "for all headers of a request (default: 10)"},
    {"body-timeout", "SECONDS", "for all of its body (default: 30)"},
    {"write-timeout", "SECONDS", "for the client to take what is written (default: 60)"},
    {"idle-timeout", "SECONDS", "between two requests of a client (default: 60)"},
};

// The key: what the file holds, without the end of its line.
std::string read_key(const Session& session) {
  const auto path = session.arguments.text("api-key-file");
  if (!path) return "";
  constexpr uint64_t kMostBytes = 4096;
  std::string key = base::read_all(*base::open_input(session.files, *path), kMostBytes);
  while (key.ends_with('\n') || key.ends_with('\r')) key.pop_back();
  if (key.empty()) base::refuse("API key", *path, "the file is empty");
  for (const char c : key) {
    if (c > ' ' && c < 0x7f) continue;
    base::refuse(
        "API key", *path,
        "has " + (c == '\n' ? std::string("several lines") : "a blank or a letter beyond ASCII") +
            "; a key is one word of letters, digits and signs");
  }
  return key;
}

server::HttpLimits limits_of(const Arguments& arguments) {
  server::HttpLimits limits;
  const auto count = [&](const char* option, int& value) {
    value = static_cast<int>(arguments.integer(option, {1, 10'000}).value_or(value));
  };
  count("workers", limits.workers);
  count("max-queue", limits.queued_requests);
  count("max-connections", limits.connections);
  const auto seconds = [&](const char* option, double& value) {
    value = arguments.real(option, {0.001, 86'400}).value_or(value);
  };
  seconds("header-timeout", limits.header_seconds);
  seconds("body-timeout", limits.body_seconds);
  seconds("write-timeout", limits.write_seconds);
  seconds("idle-timeout", limits.idle_seconds);
  return limits;
}

// A line of the log. It is lost where nobody reads standard error: the server waits for no reader.
void print_log_line(std::string_view line) {
  pollfd file{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&file, 1, 0) == 1 && (file.revents & POLLOUT) != 0) print_line(line);
}

// The folder for jobs in the cache, and the next one where a server holds it already.
std::string free_work_folder(const std::string& cache) {
  const std::string first = cache + "/work";
  std::string folder = first;
  for (int number = 2; number < 100 && !server::is_work_folder_free(folder); ++number) {
    folder = first + "-" + std::to_string(number);
  }
  return folder;
}

server::ApplicationOptions serve_options(const Session& session) {
  const Arguments& arguments = session.arguments;
  server::ApplicationOptions options{.models = arguments.words()};
  server::ServerOptions& http = options.http;
  http.host = arguments.text("host").value_or(http.host);
  http.port = static_cast<uint16_t>(arguments.integer("port", {0, 65535}).value_or(kPort));
  http.limits = limits_of(arguments);
  if (const auto names = arguments.text("allow-host"))
    http.allowed_hosts = split_words(*names, ',');
  if (!server::is_loopback_host(http.host) && !arguments.has("api-key-file")) {
    throw Error(ErrorKind::usage, arguments.source("host"), http.host,
                "other machines can reach it there, so a key is needed: --api-key-file FILE");
  }
  http.api_key = read_key(session);
  if (!arguments.has("quiet")) http.log = print_log_line;
  options.work_folder = arguments.text("work").value_or("");
  if (options.work_folder.empty())
    options.work_folder = free_work_folder(cache_folder(session.files));
  return options;
}

// On the user's own computer: "ssh -L 8080:127.0.0.1:8080 user@host"; empty: this is it.
std::string forwarding_command(uint16_t port) {
  const char* connection = std::getenv("SSH_CONNECTION");
  if (connection == nullptr || *connection == '\0') return "";
  // The client's address and port, then ours.
  const std::vector<std::string> parts = split_words(connection, ' ');
  const char* user = std::getenv("USER");
  const std::string name = user == nullptr || *user == '\0' ? "" : std::string(user) + "@";
  const std::string host = parts.size() > 2 ? parts[2] : "HOST";
  const std::string number = std::to_string(port);
  return "ssh -L " + number + ":127.0.0.1:" + number + " " + name + host;
}

void serve_until_signalled(server::Application& application,
                           const std::function<void()>& announce) {
  const Uninterrupted held;
  application.start();
  announce();
  while (!held.is_signalled()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (!application.stop(kStopSeconds)) _exit(128 + waiting_signal());
}

void print_notes(const Session& session, const server::Application& application) {
  if (session.arguments.has("quiet")) return;
  for (const std::string& note : application.notes()) {
    print_line("headlight: note: " + text::printable(note));
  }
}

void announce_server(Session& session, const server::Application& application) {
  const io::Json json = io::Json::Object{{"url", application.url()}, {"port", application.port()}};
  session.output.write((session.json ? io::json_text(json) : application.url()) + "\n");
  session.output.flush();
  if (!session.talkative) return;
  if (const std::string command = forwarding_command(application.port()); !command.empty()) {
    say_line(session, "command.serve.forward");
    print_line("  " + text::printable(command));
  }
  say_line(session, "command.serve.stop");
}

void run_serve(Session& session) {
  // Threads of the server open files at the same time, which the session's own are not for.
  recipes::FilesWithEmbedded files;
  base::ThreadPool threads(session.threads);
  const auto application = [&] {
    const Progress progress(session, command_text(session, "command.progress.preparing"));
    return std::make_unique<server::Application>(files, threads, serve_options(session));
  }();
  print_notes(session, *application);
  serve_until_signalled(*application, [&] { announce_server(session, *application); });
}

// The usual port where it is free.
std::unique_ptr<server::Application> first_application(const std::string& cache,
                                                       base::FileSystem& files,
                                                       base::ThreadPool& threads) {
  server::ApplicationOptions options{.work_folder = free_work_folder(cache)};
  options.http.port = kPort;
  try {
    return std::make_unique<server::Application>(files, threads, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::failed) throw;
  }
  options.http.port = 0;
  return std::make_unique<server::Application>(files, threads, options);
}

}  // namespace

void serve_after_first_minute(Session& session, const std::string& cache) {
  recipes::FilesWithEmbedded files;
  base::ThreadPool threads(session.threads);
  const auto application = first_application(cache, files, threads);
  const int64_t width = style_of_output().width;
  const auto say = [&](std::string_view key, const std::vector<narrate::Placeholder>& values) {
    session.output.write(narrate::wrapped(command_text(session, key, values), width));
  };
  serve_until_signalled(*application, [&] {
    session.output.write("\n");
    if (application->port() != kPort) {
      say("command.serve.other_port", {{"port", std::to_string(kPort)}});
    }
    say("command.serve.address", {{"url", application->url()}});
    const std::string command = forwarding_command(application->port());
    if (!command.empty()) {
      say("command.serve.forward", {});
      session.output.write("  " + text::printable(command) + "\n");
    }
    say("command.serve.stop", {});
    session.output.flush();
    open_in_browser(application->url());
  });
}

const Command kServe = {"serve",        "the studio in the browser, its API and OpenAI's",
                        kServeExamples, kServeOptions,
                        run_serve,      {.name = "MODEL", .required = false, .repeats = true}};

}  // namespace headlight::cli
