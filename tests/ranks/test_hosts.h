// TestHosts: several hosts on one machine. Each is a network namespace with an address and a name
// of its own; the machine's own network is not touched.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/base/temporary_folder.h"
#include "tests/ranks/packet_relay.h"
#include "tests/ranks/process.h"

namespace headlight::test {

class TestHosts {
 public:
  // Hosts 0 to count - 1, connected by a bridge. Throws std::runtime_error when they cannot be
  // made.
  explicit TestHosts(int count);
  // Two hosts, connected by a relay.
  explicit TestHosts(const RelayTerms& terms);
  // Kills what runs on them.
  ~TestHosts();
  TestHosts(const TestHosts&) = delete;
  TestHosts& operator=(const TestHosts&) = delete;

  // Why there can be no hosts here; empty when there can. Relays have reasons of their own.
  static std::string reason_not_possible();
  // Of tests that were killed: their hosts, and what runs on them. Every constructor does it.
  static void remove_stale();

  int count() const { return count_; }
  std::string address(int host) const;  // 10.77.0.1 for host 0
  std::string name(int host) const;     // what its processes are told by gethostname()
  static std::string network() { return "10.77.0.0/24"; }

  // The command that runs this command on the host. It sees all files; TMPDIR is the host's own.
  std::vector<std::string> on(int host, const std::vector<std::string>& words) const;
  ProcessRun run(int host, const std::vector<std::string>& words,
                 Milliseconds limit = Milliseconds(60'000)) const;
  std::unique_ptr<Process> launch(int host, const std::vector<std::string>& words,
                                  const std::vector<std::string>& set = {}) const;
  // Calls it in a thread that has the host's network: for sockets of the test itself.
  void inside(int host, const std::function<void()>& work) const;
  std::vector<pid_t> processes(int host) const;
  void kill_processes() const;

  // Pulls the host's cable: nobody is told, packets go nowhere.
  void cut(int host);
  void mend(int host);
  // Both ways; 0: as fast as it goes again. False where the kernel has no token bucket filter.
  bool slow(int host, int64_t bits_per_second);
  // Processes that are launched from here on see an empty disk of that size at the folder, which
  // exists. What they write there is gone with them.
  void give_small_disk(int host, const std::string& folder, int64_t bytes) const;
  // Null on hosts that are connected by a bridge.
  PacketRelay* relay() { return relay_.get(); }

  // Runs `FOLDER/agent ADDRESS COMMAND...` on the host with the address, as ssh would.
  std::string agent() const { return folder_ / "agent"; }

 private:
  TestHosts(int count, const RelayTerms* terms);
  void make_namespace(const std::string& which) const;
  void connect_by_bridge();
  void connect_by_relay(const RelayTerms& terms);
  void write_scripts() const;
  void remove();
  std::string namespace_of(const std::string& which) const { return prefix_ + which; }
  std::string namespace_of(int host) const { return prefix_ + std::to_string(host); }

  int count_ = 0;
  std::string prefix_;
  TemporaryFolder folder_;
  std::unique_ptr<PacketRelay> relay_;
};

}  // namespace headlight::test
