// The shared object libheadlight_mpi.so: a Link over MPI, the only source that knows MPI.
#include <mpi.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <unordered_map>

#include "headlight/base/base.h"
#include "headlight/ranks/link.h"

namespace headlight::ranks {
namespace {

using base::Error;
using base::ErrorKind;

constexpr int kTag = 0;

void check(int result, const char* what) {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  throw Error(ErrorKind::failed, "MPI", what,
              std::string(text.data(), static_cast<size_t>(length)));
}

int count_of(std::span<const std::byte> bytes) {
  if (bytes.size() <= INT_MAX) return static_cast<int>(bytes.size());
  throw Error(ErrorKind::failed, "MPI", std::to_string(bytes.size()) + " bytes",
              "a message has at most " + std::to_string(INT_MAX));
}

class MpiLink : public Link {
 public:
  void open() override {
    // Open MPI would print about connections that break, and wait for the launcher to take it.
    setenv("OMPI_MCA_orte_execute_quiet", "1", 0);
    int level = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "init");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &messages_), "communicator");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &notices_), "communicator");
    for (const MPI_Comm comm : {MPI_COMM_WORLD, messages_, notices_}) {
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    }
    check(MPI_Comm_rank(messages_, &rank_), "rank");
    check(MPI_Comm_size(messages_, &count_), "size");
    listen();
  }

  int rank() const override { return rank_; }
  int count() const override { return count_; }

  std::string host() const override {
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    MPI_Get_processor_name(name.data(), &length);
    return {name.data(), static_cast<size_t>(length)};
  }

  Request send(int to, std::span<const std::byte> bytes) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(bytes.data(), count_of(bytes), MPI_BYTE, to, kTag, messages_, &request),
          "send");
    return keep(request);
  }

  Request receive(int from, std::span<std::byte> bytes) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(bytes.data(), count_of(bytes), MPI_BYTE, from, kTag, messages_, &request),
          "receive");
    return keep(request);
  }

  bool is_done(Request number) override {
    int done = 0;
    MPI_Request& request = requests_.at(number);
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "exchange");
    if (done != 0) requests_.erase(number);
    return done != 0;
  }

  void send_notice(int to, const std::string& bytes) override {
    drop_sent_notices();
    Sent& sent = sent_.emplace_back();
    sent.bytes = bytes.substr(0, kNoticeBytes);
    check(MPI_Isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_BYTE, to, kTag,
                    notices_, &sent.request),
          "notice");
  }

  std::optional<Notice> next_notice() override {
    int done = 0;
    MPI_Status status;
    check(MPI_Test(&listening_, &done, &status), "notice");
    if (done == 0) return std::nullopt;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    Notice notice{.sender = status.MPI_SOURCE,
                  .bytes = std::string(heard_.data(), static_cast<size_t>(size))};
    listen();
    return notice;
  }

  bool are_notices_sent() override {
    drop_sent_notices();
    return sent_.empty();
  }

  void close() override {
    MPI_Cancel(&listening_);
    MPI_Wait(&listening_, MPI_STATUS_IGNORE);
    MPI_Finalize();
  }

 private:
  struct Sent {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  Request keep(MPI_Request request) {
    requests_.emplace(++last_request_, request);
    return last_request_;
  }

  void listen() {
    check(MPI_Irecv(heard_.data(), static_cast<int>(heard_.size()), MPI_BYTE, MPI_ANY_SOURCE, kTag,
                    notices_, &listening_),
          "notice");
  }

  void drop_sent_notices() {
    sent_.remove_if([](Sent& sent) {
      int done = 0;
      check(MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE), "notice");
      return done != 0;
    });
  }

  MPI_Comm messages_ = MPI_COMM_NULL, notices_ = MPI_COMM_NULL;
  int rank_ = 0, count_ = 1;
  std::unordered_map<Request, MPI_Request> requests_;
  Request last_request_ = 0;
  std::list<Sent> sent_;
  std::array<char, kNoticeBytes> heard_{};
  MPI_Request listening_ = MPI_REQUEST_NULL;
};

}  // namespace
}  // namespace headlight::ranks

extern "C" headlight::ranks::Link* headlight_make_link(const char* version) {
  if (std::strcmp(version, headlight::ranks::kLinkVersion) != 0) return nullptr;
  return new headlight::ranks::MpiLink;
}
