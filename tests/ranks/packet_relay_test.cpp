// The relay between two hosts: late, lossy or narrow as it was told.
#include "tests/ranks/packet_relay.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/ranks/sockets.h"
#include "tests/ranks/test_hosts.h"

namespace headlight::test {
namespace {

using Clock = std::chrono::steady_clock;

class PacketRelayTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = TestHosts::reason_not_possible(); !why.empty()) GTEST_SKIP() << why;
    if (const std::string why = PacketRelay::reason_not_possible(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
};

// How many of the datagrams from host 0 come to host 1; each is awaited, or given up after a while.
int datagrams_received(const TestHosts& hosts, int count, size_t size = 100) {
  HostSocket receiver(hosts, 1, SOCK_DGRAM);
  HostSocket sender(hosts, 0, SOCK_DGRAM);
  EXPECT_TRUE(sender.connect_to(hosts.address(1), receiver.port(), kLong));
  for (int i = 0; i < count; ++i) EXPECT_TRUE(sender.send(std::string(size, 'x')));
  int received = 0;
  while (!receiver.received(size, kShort).empty()) ++received;
  return received;
}

TEST_F(PacketRelayTest, delays_packets_both_ways) {
  TestHosts hosts(RelayTerms{.delay = std::chrono::milliseconds(40)});
  HostSocket door(hosts, 1, SOCK_STREAM);
  door.listen();
  HostSocket caller(hosts, 0, SOCK_STREAM);
  ASSERT_TRUE(caller.connect_to(hosts.address(1), door.port(), kLong));
  std::optional<HostSocket> answer = door.accepted(kLong);
  ASSERT_TRUE(answer.has_value());
  const auto start = Clock::now();
  caller.send("question");
  EXPECT_EQ(answer->received(100, kLong), "question");
  EXPECT_GE(Clock::now() - start, Milliseconds(40));
  answer->send("answer");
  EXPECT_EQ(caller.received(100, kLong), "answer");
  EXPECT_GE(Clock::now() - start, Milliseconds(80));
}

TEST_F(PacketRelayTest, loses_the_part_it_was_told_and_the_same_for_the_same_seed) {
  int received[2] = {};
  for (int& count : received) {
    TestHosts hosts(RelayTerms{.loss = 0.3, .seed = 5});
    count = datagrams_received(hosts, 400);
    EXPECT_GT(count, 230);
    EXPECT_LT(count, 330);
    EXPECT_EQ(hosts.relay()->counts().lost, 400 - count);
    EXPECT_EQ(hosts.relay()->counts().overflown, 0);
  }
  EXPECT_EQ(received[0], received[1]);
}

TEST_F(PacketRelayTest, carries_a_stream_whole_in_spite_of_losses) {
  TestHosts hosts(RelayTerms{.delay = std::chrono::milliseconds(1), .loss = 0.02});
  HostSocket door(hosts, 1, SOCK_STREAM);
  door.listen();
  HostSocket caller(hosts, 0, SOCK_STREAM);
  ASSERT_TRUE(caller.connect_to(hosts.address(1), door.port(), kLong));
  std::optional<HostSocket> answer = door.accepted(kLong);
  ASSERT_TRUE(answer.has_value());
  std::string sent(200'000, '\0');
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * i >> 7);
  std::thread sender([&] { caller.send(sent); });
  std::string received;
  while (received.size() < sent.size()) {
    const std::string more = answer->received(65536, kLong);
    if (more.empty()) break;
    received += more;
  }
  sender.join();
  EXPECT_TRUE(received == sent);
  EXPECT_GT(hosts.relay()->counts().lost, 0);
}

TEST_F(PacketRelayTest, is_as_narrow_as_it_was_told) {
  TestHosts hosts(RelayTerms{.bits_per_second = 2'000'000});
  const auto start = Clock::now();
  EXPECT_EQ(datagrams_received(hosts, 100, 1000), 100);
  // 100 packets of 1028 bytes.
  EXPECT_GE(Clock::now() - start, Milliseconds(411));
}

TEST_F(PacketRelayTest, drops_what_its_queue_cannot_hold) {
  TestHosts hosts(RelayTerms{.bits_per_second = 2'000'000, .queue_bytes = 20'000});
  const int received = datagrams_received(hosts, 100, 1000);
  EXPECT_GE(received, 19);
  EXPECT_LT(received, 80);
  EXPECT_EQ(hosts.relay()->counts().overflown, 100 - received);
}

TEST_F(PacketRelayTest, passes_nothing_while_it_is_cut) {
  TestHosts hosts(RelayTerms{});
  EXPECT_EQ(datagrams_received(hosts, 10), 10);
  hosts.cut(1);
  EXPECT_EQ(datagrams_received(hosts, 10), 0);
  hosts.mend(0);
  EXPECT_EQ(datagrams_received(hosts, 10), 10);
}

TEST_F(PacketRelayTest, changes_its_terms_while_it_runs) {
  TestHosts hosts(RelayTerms{});
  hosts.relay()->set({.loss = 1.0});
  EXPECT_EQ(datagrams_received(hosts, 5), 0);
  hosts.relay()->set({});
  EXPECT_EQ(datagrams_received(hosts, 5), 5);
}

}  // namespace
}  // namespace headlight::test
