// Everything is done by `ip` and `tc`; what ends in a name of a namespace says whose it is.
#include "tests/ranks/test_hosts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "tests/ranks/network_namespace.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNamespaces = "/run/netns";
constexpr const char* kNameStart = "headlight-";
constexpr const char* kDevice = "eth0";

void must_run(const std::vector<std::string>& words) {
  Process process(words);
  const ProcessRun run = process.finish();
  if (run.code == 0) return;
  std::string line;
  for (const std::string& word : words) line += word + " ";
  throw std::runtime_error(line + "failed: " + run.errors);
}

bool does_run(const std::vector<std::string>& words) { return Process(words).finish().code == 0; }

std::string place_of(const std::string& name) { return std::string(kNamespaces) + "/" + name; }

// "headlight-PROCESS-START-" of the process that makes them.
std::string prefix_of(pid_t process) {
  return kNameStart + std::to_string(process) + "-" + std::to_string(start_of(process)) + "-";
}

std::vector<pid_t> processes_in(const std::string& name) {
  struct stat wanted {};
  if (stat(place_of(name).c_str(), &wanted) != 0) return {};
  std::vector<pid_t> result = living_processes();
  std::erase_if(result, [&](pid_t process) {
    struct stat own {};
    const std::string place = "/proc/" + std::to_string(process) + "/ns/net";
    return stat(place.c_str(), &own) != 0 || own.st_ino != wanted.st_ino ||
           own.st_dev != wanted.st_dev || process == getpid();
  });
  return result;
}

// What is started meanwhile is killed as well.
void kill_processes_in(const std::string& name) {
  for (int round = 0; round < 20; ++round) {
    const std::vector<pid_t> found = processes_in(name);
    if (found.empty()) return;
    kill_all(found);
  }
}

void remove_namespace(const std::string& name) {
  kill_processes_in(name);
  does_run({"ip", "netns", "del", name});
}

std::vector<std::string> namespaces() {
  std::vector<std::string> result;
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(kNamespaces, problem)) {
    result.push_back(entry.path().filename().string());
  }
  return result;
}

std::string tried_hosts() {
  for (const char* tool : {"ip", "tc", "nsenter", "unshare"}) {
    if (program_in_path(tool).empty()) return std::string(tool) + " is not installed";
  }
  try {
    NetworkNamespace::made_for_trying();
    TestHosts hosts(2);
    const ProcessRun run = hosts.run(1, {"true"});
    return run.code == 0 ? "" : "a namespace cannot be entered: " + run.errors;
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

void write_script(const std::string& path, const std::string& text) {
  std::ofstream(path) << "#!/bin/sh\n" << text;
  fs::permissions(path, fs::perms::owner_all);
}

std::string quoted(const std::string& text) { return "'" + text + "'"; }

}  // namespace

std::string TestHosts::reason_not_possible() {
  static const std::string reason = tried_hosts();
  return reason;
}

void TestHosts::remove_stale() {
  for (const std::string& name : namespaces()) {
    int process = 0;
    if (std::sscanf(name.c_str(), "headlight-%d-", &process) != 1) continue;
    if (!is_alive(process) || !name.starts_with(prefix_of(process))) remove_namespace(name);
  }
}

TestHosts::TestHosts(int count) : TestHosts(count, nullptr) {}
TestHosts::TestHosts(const RelayTerms& terms) : TestHosts(2, &terms) {}

TestHosts::TestHosts(int count, const RelayTerms* terms) : count_(count) {
  static std::atomic<int> made = 0;
  prefix_ = prefix_of(getpid()) + std::to_string(made++) + "-";
  remove_stale();
  try {
    write_scripts();
    for (int host = 0; host < count_; ++host) make_namespace(std::to_string(host));
    terms != nullptr ? connect_by_relay(*terms) : connect_by_bridge();
  } catch (...) {
    remove();
    throw;
  }
}

TestHosts::~TestHosts() { remove(); }

void TestHosts::remove() {
  relay_.reset();
  for (int host = 0; host < count_; ++host) remove_namespace(namespace_of(host));
  remove_namespace(namespace_of("hub"));
}

void TestHosts::make_namespace(const std::string& which) const {
  const std::string name = namespace_of(which);
  must_run({"ip", "netns", "add", name});
  // Without what IPv6 says by itself, packets are those of the test alone. Not every kernel has it.
  NetworkNamespace(place_of(name)).inside([] {
    for (const char* devices : {"all", "default"}) {
      std::ofstream("/proc/sys/net/ipv6/conf/" + std::string(devices) + "/disable_ipv6") << "1";
    }
  });
  must_run({"ip", "-n", name, "link", "set", "lo", "up"});
}

void TestHosts::connect_by_bridge() {
  make_namespace("hub");
  const std::string hub = namespace_of("hub");
  must_run({"ip", "-n", hub, "link", "add", "hub", "type", "bridge"});
  must_run({"ip", "-n", hub, "link", "set", "hub", "up"});
  for (int host = 0; host < count_; ++host) {
    const std::string port = "port" + std::to_string(host);
    const std::string name = namespace_of(host);
    must_run({"ip", "-n", hub, "link", "add", port, "type", "veth", "peer", "name", kDevice,
              "netns", name});
    must_run({"ip", "-n", hub, "link", "set", port, "master", "hub", "up"});
    must_run({"ip", "-n", name, "address", "add", address(host) + "/24", "dev", kDevice});
    must_run({"ip", "-n", name, "link", "set", kDevice, "up"});
  }
}

void TestHosts::connect_by_relay(const RelayTerms& terms) {
  relay_ = std::make_unique<PacketRelay>(
      std::array{place_of(namespace_of(0)), place_of(namespace_of(1))}, kDevice, terms);
  for (int host = 0; host < count_; ++host) {
    const std::string name = namespace_of(host);
    must_run({"ip", "-n", name, "address", "add", address(host) + "/24", "dev", kDevice});
    must_run({"ip", "-n", name, "link", "set", kDevice, "mtu", "1500", "up"});
  }
}

// enter HOST COMMAND..., arrive HOST COMMAND... once in its network, agent ADDRESS COMMAND...
void TestHosts::write_scripts() const {
  const std::string disk = quoted(folder_ / "disk-") + "$host";
  const std::string temporary = quoted(folder_ / "temporary-") + "$host";
  write_script(folder_ / "enter",
               "host=$1\nnew=--uts\n[ ! -e " + disk + " ] || new='--uts --mount'\n" +
                   "exec nsenter --net=" + place_of(prefix_) + "$host unshare $new " +
                   quoted(folder_ / "arrive") + " \"$@\"\n");
  write_script(folder_ / "arrive",
               "host=$1\nshift\n{ hostname host$host || echo host$host "
               ">/proc/sys/kernel/hostname; } 2>/dev/null\n[ ! -e " +
                   disk + " ] || . " + disk + "\nexport TMPDIR=" + temporary +
                   "\nmkdir -p \"$TMPDIR\"\nexec \"$@\"\n");
  write_script(folder_ / "agent", "address=$1\nshift\nexec " + quoted(folder_ / "enter") +
                                      " $((${address##*.} - 1)) sh -c \"$*\"\n");
}

std::string TestHosts::address(int host) const { return "10.77.0." + std::to_string(host + 1); }
std::string TestHosts::name(int host) const { return "host" + std::to_string(host); }

std::vector<std::string> TestHosts::on(int host, const std::vector<std::string>& words) const {
  std::vector<std::string> result = {folder_ / "enter", std::to_string(host)};
  result.insert(result.end(), words.begin(), words.end());
  return result;
}

ProcessRun TestHosts::run(int host, const std::vector<std::string>& words,
                          Milliseconds limit) const {
  return launch(host, words)->finish(limit);
}

std::unique_ptr<Process> TestHosts::launch(int host, const std::vector<std::string>& words,
                                           const std::vector<std::string>& set) const {
  return std::make_unique<Process>(on(host, words), set);
}

void TestHosts::inside(int host, const std::function<void()>& work) const {
  NetworkNamespace(place_of(namespace_of(host))).inside(work);
}

std::vector<pid_t> TestHosts::processes(int host) const { return processes_in(namespace_of(host)); }

void TestHosts::kill_processes() const {
  for (int host = 0; host < count_; ++host) kill_processes_in(namespace_of(host));
}

void TestHosts::cut(int host) {
  if (relay_) return relay_->cut();
  must_run({"ip", "-n", namespace_of("hub"), "link", "set", "port" + std::to_string(host), "down"});
}

void TestHosts::mend(int host) {
  if (relay_) return relay_->mend();
  must_run({"ip", "-n", namespace_of("hub"), "link", "set", "port" + std::to_string(host), "up"});
}

bool TestHosts::slow(int host, int64_t bits_per_second) {
  if (relay_) {
    RelayTerms terms = relay_->terms();
    terms.bits_per_second = bits_per_second;
    relay_->set(terms);
    return true;
  }
  const std::pair<std::string, std::string> ends[] = {
      {namespace_of("hub"), "port" + std::to_string(host)}, {namespace_of(host), kDevice}};
  for (const auto& [name, device] : ends) {
    std::vector<std::string> words = {"tc", "-n", name, "qdisc", "del", "dev", device, "root"};
    does_run(words);
    if (bits_per_second == 0) continue;
    // Enough for a hundredth of a second, which is as often as the slowest kernels look.
    const int64_t burst = std::max<int64_t>(16 * 1024, bits_per_second / 800);
    words[4] = "add";
    for (const std::string& word :
         {std::string("tbf"), std::string("rate"), std::to_string(bits_per_second) + "bit",
          std::string("burst"), std::to_string(burst), std::string("latency"),
          std::string("400ms")}) {
      words.push_back(word);
    }
    if (!does_run(words)) return false;
  }
  return true;
}

void TestHosts::give_small_disk(int host, const std::string& folder, int64_t bytes) const {
  folder_.put("disk-" + std::to_string(host),
              "mount -t tmpfs -o size=" + std::to_string(bytes) + " none " + quoted(folder) + "\n");
}

}  // namespace headlight::test
