// PacketRelay: two network namespaces joined by a pair of TUN devices, with a thread in between
// that passes packets as slowly and as badly as it is told. Not every kernel has netem.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace headlight::test {

// Of one direction; both have the same.
struct RelayTerms {
  std::chrono::microseconds delay{0};
  double loss = 0.0;                 // the part of packets that is dropped
  int64_t bits_per_second = 0;       // 0: as fast as it goes
  uint64_t seed = 1;                 // of what is lost
  size_t queue_bytes = 1024 * 1024;  // what does not fit any more is dropped
};

struct RelayCounts {
  int64_t passed = 0;
  int64_t lost = 0;       // by chance, or since the relay is cut
  int64_t overflown = 0;  // since the queue was full
};

class PacketRelay {
 public:
  // Makes a device of this name in each of the two namespaces, which are files such as those of
  // `ip netns`. Addresses are the caller's business. Throws std::runtime_error when it cannot.
  PacketRelay(const std::array<std::string, 2>& namespaces, const std::string& device,
              const RelayTerms& terms);
  // The devices go with it.
  ~PacketRelay();
  PacketRelay(const PacketRelay&) = delete;
  PacketRelay& operator=(const PacketRelay&) = delete;

  // From the next packet on; the seed counts only when it differs from the one before.
  void set(const RelayTerms& terms);
  RelayTerms terms() const;
  // Passes nothing until it is mended; what is under way is lost.
  void cut();
  void mend();
  RelayCounts counts() const;

  // Why there can be no TUN devices here; empty when there can.
  static std::string reason_not_possible();

 private:
  using Clock = std::chrono::steady_clock;
  struct Packet {
    Clock::time_point due;
    std::vector<char> bytes;
  };
  struct Direction {
    int from = -1;
    int to = -1;
    std::deque<Packet> queue;
    size_t queued_bytes = 0;
    Clock::time_point line_free_at;  // when the last bit before is sent
    std::mt19937_64 chance;
  };

  void pass_packets();
  void take_packets(Direction& direction);
  void take(Direction& direction, std::vector<char> bytes, Clock::time_point now);
  void send_due(Direction& direction);
  timespec time_to_next() const;

  mutable std::mutex mutex_;  // of all below but the file numbers
  RelayTerms terms_;
  RelayCounts counts_;
  bool is_cut_ = false;
  std::array<Direction, 2> directions_;
  int wake_ = -1;  // readable when the thread shall end
  std::thread thread_;
};

}  // namespace headlight::test
