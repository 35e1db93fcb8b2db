// `headlight serve` as a shell runs it, and the server after the first minute.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "headlight/io/io.h"
#include "headlight/recipes/recipes.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/program.h"
#include "tests/cli/served_program.h"
#include "tests/cli/terminal.h"

namespace headlight::test {
namespace {

using namespace std::chrono_literals;

class Serve : public ServedProgram {};

TEST_F(Serve, prints_its_address_and_answers_there) {
  const auto program = started({"--port", "0"});
  EXPECT_EQ(folder_.get("output"), "http://127.0.0.1:" + std::to_string(port()) + "/\n");
  EXPECT_TRUE(http_answer(port(), "/health").ends_with("\r\n\r\n{\"status\":\"ok\"}"));
  EXPECT_NE(http_answer(port(), "/").find("/studio.js"), std::string::npos);
  EXPECT_TRUE(http_answer(port(), "/none\x1b[31m").starts_with("HTTP/1.1 40"));
  ASSERT_TRUE(program->send(SIGTERM));
  const ProgramRun run = program->finish();
  EXPECT_EQ(run.code, 143);
  EXPECT_EQ(std::ranges::count(run.errors, '\n'), 3) << run.errors;
  EXPECT_NE(run.errors.find(" GET /health 200 15 bytes "), std::string::npos) << run.errors;
  EXPECT_EQ(run.errors.find('\x1b'), std::string::npos);
}

TEST_F(Serve, prints_json_where_it_is_asked_for) {
  const auto program = started({"stories", "--port", "0", "--json", "--quiet"});
  const io::Json json = io::parse_json(folder_.get("output"), "output");
  const auto number = json.find("port")->integer().value();
  EXPECT_EQ(*json.find("url")->text(), "http://127.0.0.1:" + std::to_string(number) + "/");
  EXPECT_TRUE(http_answer(static_cast<int>(number), "/health").starts_with("HTTP/1.1 200 OK"));
  ASSERT_TRUE(program->send(SIGINT));
  const ProgramRun run = program->finish();
  EXPECT_EQ(run.code, 130);
  EXPECT_EQ(run.errors, "");
}

TEST_F(Serve, ends_soon_whatever_its_clients_do) {
  const auto program = started({"--port", "0"});
  std::vector<int> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(connected_to(port()));
  send(clients[0], "GET /he", 7, MSG_NOSIGNAL);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(program->send(SIGTERM));
  EXPECT_EQ(program->finish().code, 143);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  for (const int client : clients) close(client);
}

TEST_F(Serve, says_that_its_port_is_busy) {
  const auto program = started({"--port", "0"});
  ASSERT_GT(port(), 0);
  const ProgramRun second =
      run_program({"serve", "--port", std::to_string(port()), "--work", folder_ / "other"});
  expect_one_line(second, 1, "is busy");
}

TEST_F(Serve, has_its_work_folder_for_itself) {
  const auto program = started({"--port", "0", "--work", folder_ / "work"});
  expect_one_line(run_program({"serve", "--port", "0", "--work", folder_ / "work"}), 1,
                  "another server works there");
  // Without a name, each has one.
  const auto first = started({"--port", "0"});
  const auto second = started({"--port", "0"});
  EXPECT_TRUE(http_answer(port(), "/health").starts_with("HTTP/1.1 200"));
}

TEST_F(Serve, refuses_what_cannot_be_served) {
  expect_one_line(run_program({"serve", folder_ / "none"}), 3, "none");
  expect_one_line(run_program({"serve", "stories", "stories"}), 2, "both would be called stories");
  expect_one_line(run_program({"serve", "--port", "65536"}), 2, "--port");
  expect_one_line(run_program({"serve", "--port", "-1"}), 2, "--port");
  expect_one_line(run_program({"serve", "--header-timeout", "nan"}), 2, "--header-timeout");
  expect_one_line(run_program({"serve", "--no-serve"}), 2, "--no-serve");
  expect_one_line(run_program({"--no-serve", "info"}), 2, "--no-serve");
}

TEST_F(Serve, needs_a_key_beyond_this_machine) {
  for (const char* host : {"0.0.0.0", "::", "192.0.2.1"}) {
    expect_one_line(run_program({"serve", "--host", host}), 2, "--api-key-file");
  }
  const auto with_key = [&](const std::string& path) {
    return run_program({"serve", "--host", "0.0.0.0", "--port", "0", "--api-key-file", path});
  };
  expect_one_line(with_key(folder_ / "none"), 3, "none");
  expect_one_line(with_key(folder_.put("empty", "\n")), 3, "is empty");
  expect_one_line(with_key(folder_.put("two", "a\nb\n")), 3, "several lines");
  expect_one_line(with_key(folder_.put("large", std::string(10'000, 'k'))), 3, "large");
  const auto program = started(
      {"--host", "0.0.0.0", "--port", "0", "--api-key-file", folder_.put("key", "sk-123\n")});
  EXPECT_TRUE(http_answer(port(), "/metrics").starts_with("HTTP/1.1 401"));
  EXPECT_TRUE(http_answer(port(), "/metrics", "authorization: Bearer sk-123\r\n")
                  .starts_with("HTTP/1.1 200"));
  program->kill();
  EXPECT_EQ(program->finish().errors.find("sk-123"), std::string::npos);
}

class ServeAfterTheFirstMinute : public testing::Test {
 protected:
  TerminalOptions options(std::vector<std::string> set = {}) const {
    set.push_back("XDG_CACHE_HOME=" + folder_ / "cache");
    // What the test itself was started from does not matter.
    for (const char* name : {"SSH_CONNECTION", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER"}) {
      if (std::ranges::none_of(set, [&](const std::string& one) {
            return one.starts_with(std::string(name) + "=");
          })) {
        set.push_back(std::string(name) + "=");
      }
    }
    return {.set = set};
  }
  TemporaryFolder folder_;
};

TEST_F(ServeAfterTheFirstMinute, tells_its_address_at_a_terminal) {
  Terminal terminal({}, options());
  EXPECT_TRUE(terminal.wait_for("The studio: http://127.0.0.1:"));
  EXPECT_TRUE(terminal.wait_for("Ctrl-C ends it."));
  const size_t at = terminal.bytes().find("http://127.0.0.1:") + 17;
  const int port = std::atoi(terminal.bytes().c_str() + at);
  EXPECT_TRUE(http_answer(port, "/health").starts_with("HTTP/1.1 200"));
  EXPECT_NE(http_answer(port, "/").find("studio.js"), std::string::npos);
  EXPECT_TRUE(http_answer(port, "/api/models").starts_with("HTTP/1.1 200"));
  EXPECT_EQ(terminal.bytes().find("ssh -L"), std::string::npos);
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 130);
}

// The usual port is held by the first, so the second takes another and says so.
TEST_F(ServeAfterTheFirstMinute, takes_another_port_where_its_own_is_taken) {
  const int holder = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(8080);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;  // although connections to it have ended just now
  setsockopt(holder, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Somebody else may hold it as well.
  if (bind(holder, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    listen(holder, 1);
  }
  Terminal terminal({}, options());
  EXPECT_TRUE(terminal.wait_for("Port 8080 is taken by another program"));
  EXPECT_TRUE(terminal.wait_for("Ctrl-C ends it."));
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 130);
  close(holder);
}

TEST_F(ServeAfterTheFirstMinute, tells_how_to_forward_the_port_over_ssh) {
  Terminal terminal({}, options({"SSH_CONNECTION=198.51.100.7 50000 192.0.2.1 22", "USER=anna"}));
  EXPECT_TRUE(terminal.wait_for("anna@192.0.2.1"));
  EXPECT_NE(terminal.bytes().find("ssh -L "), std::string::npos);
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 130);
}

TEST_F(ServeAfterTheFirstMinute, opens_the_browser) {
  const std::string script =
      folder_.put("browser", "#!/bin/sh\nprintf %s \"$1\" > " + folder_ / "opened\n");
  chmod(script.c_str(), 0755);
  Terminal terminal({}, options({"BROWSER=" + script}));
  EXPECT_TRUE(terminal.wait_for("Ctrl-C ends it."));
  for (int i = 0; i < 500 && folder_.get("opened").empty(); ++i) std::this_thread::sleep_for(10ms);
  const std::string opened = folder_.get("opened");
  EXPECT_TRUE(opened.starts_with("http://127.0.0.1:") && opened.ends_with("/")) << opened;
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 130);
}

TEST_F(ServeAfterTheFirstMinute, is_left_out_where_the_user_says_so) {
  Terminal terminal({"--no-serve"}, options());
  EXPECT_EQ(terminal.finish(), 0);
  EXPECT_EQ(terminal.bytes().find("http://"), std::string::npos);
}

}  // namespace
}  // namespace headlight::test
