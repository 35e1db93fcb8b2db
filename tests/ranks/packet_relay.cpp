// One thread, two devices, a queue for each direction ordered by when packets are due.
#include "tests/ranks/packet_relay.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "tests/ranks/network_namespace.h"

namespace headlight::test {
namespace {

constexpr const char* kTunPath = "/dev/net/tun";
constexpr size_t kLargestPacket = 65536;
constexpr int kPacketsAtATime = 64;  // so that one direction cannot keep the other waiting

std::string why() { return std::strerror(errno); }

// A device in the namespace that the calling thread is in.
int made_device(const std::string& name) {
  const int device = open(kTunPath, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device < 0) throw std::runtime_error(std::string(kTunPath) + " cannot be opened: " + why());
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  if (ioctl(device, TUNSETIFF, &request) != 0) {
    const std::string reason = why();
    close(device);
    throw std::runtime_error("TUN device " + name + " cannot be made: " + reason);
  }
  return device;
}

std::string tried_device() {
  try {
    NetworkNamespace somewhere = NetworkNamespace::made_for_trying();
    somewhere.inside([] { close(made_device("tried")); });
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

std::string PacketRelay::reason_not_possible() {
  static const std::string reason = tried_device();
  return reason;
}

PacketRelay::PacketRelay(const std::array<std::string, 2>& namespaces, const std::string& device,
                         const RelayTerms& terms)
    : terms_(terms) {
  std::array<int, 2> devices = {-1, -1};
  try {
    for (size_t i = 0; i < 2; ++i) {
      NetworkNamespace(namespaces[i]).inside([&] { devices[i] = made_device(device); });
    }
  } catch (...) {
    for (const int made : devices) close(made);
    throw;
  }
  for (size_t i = 0; i < 2; ++i) {
    directions_[i].from = devices[i];
    directions_[i].to = devices[1 - i];
    directions_[i].chance.seed(terms.seed + i);
  }
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { pass_packets(); });
}

PacketRelay::~PacketRelay() {
  eventfd_write(wake_, 1);
  thread_.join();
  close(wake_);
  for (const Direction& direction : directions_) close(direction.from);
}

void PacketRelay::set(const RelayTerms& terms) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < 2 && terms.seed != terms_.seed; ++i) {
    directions_[i].chance.seed(terms.seed + i);
  }
  terms_ = terms;
}

RelayTerms PacketRelay::terms() const {
  const std::lock_guard lock(mutex_);
  return terms_;
}

void PacketRelay::cut() {
  const std::lock_guard lock(mutex_);
  is_cut_ = true;
  for (Direction& direction : directions_) {
    counts_.lost += static_cast<int64_t>(direction.queue.size());
    direction.queue.clear();
    direction.queued_bytes = 0;
  }
}

void PacketRelay::mend() {
  const std::lock_guard lock(mutex_);
  is_cut_ = false;
}

RelayCounts PacketRelay::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void PacketRelay::pass_packets() {
  std::array<pollfd, 3> waited = {
      {{directions_[0].from, POLLIN, 0}, {directions_[1].from, POLLIN, 0}, {wake_, POLLIN, 0}}};
  for (;;) {
    const timespec pause = time_to_next();
    ppoll(waited.data(), waited.size(), pause.tv_sec < 0 ? nullptr : &pause, nullptr);
    if ((waited[2].revents & POLLIN) != 0) return;
    // A device that is not up yet is in error and would be ready at once, again and again.
    if (((waited[0].revents | waited[1].revents) & (POLLERR | POLLHUP)) != 0) usleep(1000);
    for (Direction& direction : directions_) take_packets(direction);
    for (Direction& direction : directions_) send_due(direction);
  }
}

void PacketRelay::take_packets(Direction& direction) {
  std::array<char, kLargestPacket> bytes;
  for (int i = 0; i < kPacketsAtATime; ++i) {
    const ssize_t size = read(direction.from, bytes.data(), bytes.size());
    if (size <= 0) return;
    take(direction, {bytes.data(), bytes.data() + size}, Clock::now());
  }
}

void PacketRelay::take(Direction& direction, std::vector<char> bytes, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const double drawn = static_cast<double>(direction.chance() >> 11) / (uint64_t{1} << 53);
  if (is_cut_ || drawn < terms_.loss) {
    ++counts_.lost;
    return;
  }
  if (direction.queued_bytes + bytes.size() > terms_.queue_bytes) {
    ++counts_.overflown;
    return;
  }
  auto sent = std::max(now, direction.line_free_at);
  if (terms_.bits_per_second > 0) {
    const auto bits = static_cast<int64_t>(8 * bytes.size());
    sent += std::chrono::nanoseconds(bits * 1'000'000'000 / terms_.bits_per_second);
    direction.line_free_at = sent;
  }
  direction.queued_bytes += bytes.size();
  // A delay that was made shorter overtakes nothing.
  auto due = sent + terms_.delay;
  if (!direction.queue.empty()) due = std::max(due, direction.queue.back().due);
  direction.queue.push_back({due, std::move(bytes)});
}

void PacketRelay::send_due(Direction& direction) {
  const std::lock_guard lock(mutex_);
  while (!direction.queue.empty() && direction.queue.front().due <= Clock::now()) {
    const std::vector<char>& bytes = direction.queue.front().bytes;
    // A device that takes nothing has lost the packet, as a wire would.
    const bool is_sent = write(direction.to, bytes.data(), bytes.size()) > 0;
    ++(is_sent ? counts_.passed : counts_.lost);
    direction.queued_bytes -= bytes.size();
    direction.queue.pop_front();
  }
}

// Negative seconds: nothing is under way.
timespec PacketRelay::time_to_next() const {
  const std::lock_guard lock(mutex_);
  auto next = Clock::time_point::max();
  for (const Direction& direction : directions_) {
    if (!direction.queue.empty()) next = std::min(next, direction.queue.front().due);
  }
  if (next == Clock::time_point::max()) return {-1, 0};
  const auto rest = std::max(next - Clock::now(), Clock::duration::zero());
  const int64_t count = std::chrono::nanoseconds(rest).count();
  return {count / 1'000'000'000, count % 1'000'000'000};
}

}  // namespace headlight::test
