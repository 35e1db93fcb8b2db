// Answers that all replies give in the same way: JSON, errors, events.
#include "apps/server/http/reply.h"

#include <algorithm>
#include <new>

#include "headlight/base/base.h"

namespace headlight::server {

void Reply::send_json(const io::Json& json, int status) {
  send({.status = status, .body = io::json_text(json)});
}

void Reply::send_error(const HttpErrorFields& fields) {
  send({.status = fields.status, .body = error_json(fields), .headers = fields.headers});
}

void Reply::send_exception(std::exception_ptr problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const HttpError& error) {
    send_error(error.fields());
  } catch (const base::Error& error) {
    send_error(fields_of(error));
  } catch (const std::bad_alloc&) {
    send_error({.status = 503,
                .message = "memory: there is not enough just now",
                .type = "server_error",
                .code = "out_of_memory",
                .headers = {{"retry-after", "1"}}});
  } catch (const std::exception& error) {
    send_error({.status = 500,
                .message = std::string("internal error: ") + error.what(),
                .type = "server_error"});
  } catch (...) {
    send_error({.status = 500, .message = "internal error", .type = "server_error"});
  }
  cut_off();
}

std::string event_text(std::string_view data, std::string_view name) {
  std::string text;
  if (!name.empty()) text.append("event: ").append(name).append("\n");
  for (size_t begin = 0; begin <= data.size();) {
    const size_t end = std::min(data.find('\n', begin), data.size());
    text.append("data: ").append(data.substr(begin, end - begin)).append("\n");
    begin = end + 1;
  }
  return text.append("\n");
}

}  // namespace headlight::server
