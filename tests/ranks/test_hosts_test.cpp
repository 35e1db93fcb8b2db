// The hosts that tests of many machines stand on.
#include "tests/ranks/test_hosts.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/ranks/sockets.h"

namespace headlight::test {
namespace {

using Clock = std::chrono::steady_clock;

class TestHostsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = TestHosts::reason_not_possible(); !why.empty()) GTEST_SKIP() << why;
  }
};

std::vector<std::string> namespaces_of(pid_t process) {
  const std::string start = "headlight-" + std::to_string(process) + "-";
  std::vector<std::string> result;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns", problem)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(start)) result.push_back(name);
  }
  return result;
}

std::set<std::string> own_devices() {
  std::set<std::string> result;
  struct if_nameindex* const all = if_nameindex();
  for (auto* device = all; device != nullptr && device->if_name != nullptr; ++device) {
    result.insert(device->if_name);
  }
  if_freenameindex(all);
  return result;
}

TEST_F(TestHostsTest, have_addresses_names_and_folders_of_their_own) {
  const TestHosts hosts(3);
  EXPECT_EQ(hosts.run(1, {"uname", "-n"}).output, "host1\n");
  EXPECT_EQ(hosts.run(2, {"sh", "-c", "exit 7"}).code, 7);
  const std::string devices = hosts.run(2, {"ip", "address"}).output;
  EXPECT_NE(devices.find("10.77.0.3/24"), std::string::npos) << devices;
  EXPECT_EQ(devices.find("10.77.0.2/24"), std::string::npos) << devices;
  const std::string folder = hosts.run(0, {"sh", "-c", "echo $TMPDIR; test -d $TMPDIR"}).output;
  EXPECT_NE(folder, hosts.run(1, {"sh", "-c", "echo $TMPDIR"}).output);
}

TEST_F(TestHostsTest, exchange_bytes_and_leave_the_network_of_the_machine_alone) {
  const std::set<std::string> before = own_devices();
  const TestHosts hosts(3);
  EXPECT_EQ(own_devices(), before);
  HostSocket door(hosts, 2, SOCK_STREAM);
  door.listen();
  HostSocket caller(hosts, 0, SOCK_STREAM);
  ASSERT_TRUE(caller.connect_to(hosts.address(2), door.port(), kLong));
  std::optional<HostSocket> answer = door.accepted(kLong);
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(caller.send("question"));
  EXPECT_EQ(answer->received(100, kLong), "question");
  EXPECT_TRUE(answer->send("answer"));
  EXPECT_EQ(caller.received(100, kLong), "answer");
}

TEST_F(TestHostsTest, that_are_cut_hear_nothing_until_they_are_mended) {
  TestHosts hosts(2);
  HostSocket door(hosts, 1, SOCK_STREAM);
  door.listen();
  HostSocket caller(hosts, 0, SOCK_STREAM);
  ASSERT_TRUE(caller.connect_to(hosts.address(1), door.port(), kLong));
  std::optional<HostSocket> answer = door.accepted(kLong);
  ASSERT_TRUE(answer.has_value());
  hosts.cut(1);
  // Who sends is not told.
  EXPECT_TRUE(caller.send("late"));
  EXPECT_EQ(answer->received(100, kShort), "");
  HostSocket other(hosts, 0, SOCK_STREAM);
  EXPECT_FALSE(other.connect_to(hosts.address(1), door.port(), kShort));
  hosts.mend(1);
  EXPECT_EQ(answer->received(100, kLong), "late");
}

TEST_F(TestHostsTest, can_be_slow) {
  TestHosts hosts(2);
  HostSocket door(hosts, 1, SOCK_STREAM);
  door.listen();
  HostSocket caller(hosts, 0, SOCK_STREAM);
  ASSERT_TRUE(caller.connect_to(hosts.address(1), door.port(), kLong));
  std::optional<HostSocket> answer = door.accepted(kLong);
  ASSERT_TRUE(answer.has_value());
  if (!hosts.slow(1, 4'000'000)) GTEST_SKIP() << "the kernel has no token bucket filter";
  const std::string bytes(200'000, 'x');
  const auto start = Clock::now();
  std::thread sender([&] { caller.send(bytes); });
  size_t count = 0;
  while (count < bytes.size()) {
    const size_t more = answer->received(65536, kLong).size();
    if (more == 0) break;
    count += more;
  }
  sender.join();
  EXPECT_EQ(count, bytes.size());
  // 400 ms, less two bursts of 16 KB.
  EXPECT_GT(Clock::now() - start, Milliseconds(250));
  EXPECT_TRUE(hosts.slow(1, 0));
}

TEST_F(TestHostsTest, have_small_disks_when_asked) {
  const TestHosts hosts(2);
  const TemporaryFolder folder;
  hosts.give_small_disk(1, folder.path(), 64 * 1024);
  const std::vector<std::string> fill = {"dd", "if=/dev/zero", "of=" + folder / "file", "bs=1024",
                                         "count=128"};
  const ProcessRun full = hosts.run(1, fill);
  EXPECT_NE(full.code, 0);
  EXPECT_NE(full.errors.find("No space left"), std::string::npos) << full.errors;
  EXPECT_FALSE(std::filesystem::exists(folder / "file"));
  EXPECT_EQ(hosts.run(0, fill).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "file"));
}

TEST_F(TestHostsTest, kill_what_is_late) {
  const TestHosts hosts(1);
  const ProcessRun run = hosts.run(0, {"sleep", "100"}, Milliseconds(50));
  EXPECT_TRUE(run.timed_out);
  EXPECT_EQ(run.code, -SIGKILL);
  EXPECT_LT(run.elapsed, kLong);
}

TEST_F(TestHostsTest, leave_neither_namespaces_nor_processes_behind) {
  pid_t orphan = 0;
  {
    const TestHosts hosts(2);
    EXPECT_EQ(namespaces_of(getpid()).size(), 3u);
    auto shell = hosts.launch(1, {"sh", "-c", "setsid sleep 100 & echo $!"});
    ASSERT_TRUE(shell->wait_for_output("\n", kLong));
    EXPECT_EQ(shell->finish().code, 0);
    orphan = std::atoi(shell->output().c_str());
    const std::vector<pid_t> found = hosts.processes(1);
    EXPECT_NE(std::ranges::find(found, orphan), found.end());
    EXPECT_TRUE(hosts.processes(0).empty());
  }
  EXPECT_FALSE(is_alive(orphan));
  EXPECT_TRUE(namespaces_of(getpid()).empty());
}

TEST_F(TestHostsTest, of_tests_that_were_killed_are_removed_by_the_next) {
  const TemporaryFolder folder;
  const pid_t test = fork();
  if (test == 0) {
    setenv("TMPDIR", folder.path().c_str(), 1);
    const TestHosts hosts(2);
    auto shell = hosts.launch(1, {"sh", "-c", "setsid sleep 100 & echo $!"});
    shell->finish();
    folder.put("orphan", shell->output());
    kill(getpid(), SIGKILL);
  }
  ASSERT_GT(test, 0);
  waitpid(test, nullptr, 0);
  const pid_t orphan = std::atoi(folder.get("orphan").c_str());
  EXPECT_EQ(namespaces_of(test).size(), 3u);
  EXPECT_TRUE(is_alive(orphan));
  const TestHosts next(1);
  EXPECT_TRUE(namespaces_of(test).empty());
  EXPECT_FALSE(is_alive(orphan));
  EXPECT_FALSE(namespaces_of(getpid()).empty());
}

}  // namespace
}  // namespace headlight::test
