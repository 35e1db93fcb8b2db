// Link: what a message-passing library has to offer. MPI's is a shared object that is loaded only
// when a launcher started the program; nothing else of the engine knows MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace headlight::ranks {

// Bytes of a short message that may come at any time: a sign of life or a last word.
constexpr size_t kNoticeBytes = 1024;

struct Notice {
  int sender = 0;
  std::string bytes;  // kNoticeBytes at most
};

// One thread makes all calls, open() first. Messages between two ranks arrive in the order in which
// they were sent. Throws Error(failed) when the library says that something is broken.
class Link {
 public:
  virtual ~Link() = default;

  // Connects; afterwards rank() and count() are known.
  virtual void open() = 0;
  virtual int rank() const = 0;
  virtual int count() const = 0;
  virtual std::string host() const = 0;

  // Memory stays untouched until is_done() of the request has said so, once.
  using Request = int64_t;
  virtual Request send(int to, std::span<const std::byte> bytes) = 0;
  virtual Request receive(int from, std::span<std::byte> bytes) = 0;
  virtual bool is_done(Request request) = 0;

  // Notices are copied, and overtake messages that wait.
  virtual void send_notice(int to, const std::string& bytes) = 0;
  virtual std::optional<Notice> next_notice() = 0;
  // Whether all notices have left.
  virtual bool are_notices_sent() = 0;

  // After all ranks have agreed to end.
  virtual void close() = 0;
};

// What the shared object offers under kMakeLinkName: a new link, or null for another `version` than
// its own.
using MakeLink = Link* (*)(const char* version);
constexpr const char* kMakeLinkName = "headlight_make_link";
constexpr const char* kLinkVersion = "headlight-link-1";

}  // namespace headlight::ranks
