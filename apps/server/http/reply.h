// Reply: the handle on the answer to one request.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "apps/server/http/request.h"
#include "headlight/io/io.h"

namespace headlight::server {

// A whole answer. x-request-id, cache-control: no-store and nosniff are added where they are not
// set.
struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::map<std::string, std::string> headers = {};  // {"content-encoding", "gzip"} and the like
};

// Thread-safe. The first of send() and begin() wins, later ones do nothing. It may outlive its
// handler: who answers later keeps the shared_ptr. When the last one goes without an answer, the
// client gets 500; a stream without end() is cut off, so that the client can tell. No call throws.
class Reply {
 public:
  virtual ~Reply() = default;

  virtual void send(Response response) = 0;
  void send_json(const io::Json& json, int status = 200);
  void send_error(const HttpErrorFields& fields);
  // As the handler's caller does with what it throws: HttpError, base::Error, std::bad_alloc.
  // Within a stream it only cuts the stream off.
  void send_exception(std::exception_ptr problem);

  // An answer whose end is not known yet: write() any number of times, then end(). For server-sent
  // events the type is "text/event-stream".
  virtual void begin(int status, std::string content_type) = 0;
  // False: the client is gone, and it is no use to go on. Waits while the client is slow: at most
  // `output_buffer` bytes are held for it, and it is dropped when it does not take them within
  // `write_seconds`. Never call it on a thread that serves others too (a batch, a job).
  virtual bool write(std::string bytes) = 0;
  // Never waits: a client that lets more than `output_buffer` bytes pile up is dropped, as if it
  // had gone. For threads that serve many.
  virtual bool write_or_drop(std::string bytes) = 0;
  virtual void end() = 0;

  // The client closed or reset its connection, was too slow, or the server stops.
  virtual bool is_gone() const = 0;
  // Called once when the client goes before the answer is complete: at once when it is gone
  // already; otherwise on the server's thread, so it is short and does not wait. Several are called
  // in turn. Not called any more once the answer is complete.
  virtual void on_gone(std::function<void()> call) = 0;

 private:
  // Closes the connection of a stream that has begun and not ended; otherwise nothing.
  virtual void cut_off() = 0;
};

// One event of a text/event-stream: "data: ...\n\n", with "event: NAME" before it where one is
// given.
std::string event_text(std::string_view data, std::string_view name = {});

}  // namespace headlight::server
