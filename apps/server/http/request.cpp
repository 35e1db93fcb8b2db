// Errors as answers: one table of kinds, one form of JSON.
#include "apps/server/http/request.h"

#include "headlight/io/io.h"
#include "headlight/text/text.h"

namespace headlight::server {
namespace {

struct KindStatus {
  base::ErrorKind kind;
  int status;
  std::string_view type;
};
constexpr KindStatus kKindStatuses[] = {
    {base::ErrorKind::usage, 400, "invalid_request_error"},
    {base::ErrorKind::bad_input, 400, "invalid_request_error"},
    {base::ErrorKind::out_of_memory, 413, "invalid_request_error"},
    {base::ErrorKind::failed, 500, "server_error"}};

io::Json text_or_null(const std::string& text) {
  return text.empty() ? io::Json() : io::Json(text);
}

}  // namespace

void refuse_field(std::string_view field, std::string_view why) {
  throw HttpError({.status = 400,
                   .message = text::printable(std::string(field) + ": " + std::string(why)),
                   .param = std::string(field)});
}

void refuse_unknown(std::string_view what, std::string_view name, std::string_view code) {
  throw HttpError({.status = 404,
                   .message = text::printable(std::string(what) + " (" + std::string(name) +
                                              "): there is none of this name"),
                   .code = std::string(code)});
}

HttpErrorFields busy_fields(std::string_view why) {
  return {.status = 503,
          .message = std::string(why),
          .type = "server_error",
          .code = "busy",
          .headers = {{"retry-after", "1"}}};
}

void refuse_busy(std::string_view why) { throw HttpError(busy_fields(why)); }

HttpErrorFields fields_of(const base::Error& error, std::string_view param) {
  HttpErrorFields fields{.status = 500, .message = error.what(), .param = std::string(param)};
  for (const KindStatus& entry : kKindStatuses) {
    if (entry.kind != error.kind()) continue;
    fields.status = entry.status;
    fields.type = entry.type;
  }
  return fields;
}

std::string error_json(const HttpErrorFields& fields) {
  return io::json_text(
      io::Json::Object{{"error", io::Json::Object{{"message", fields.message},
                                                  {"type", fields.type},
                                                  {"param", text_or_null(fields.param)},
                                                  {"code", text_or_null(fields.code)}}}});
}

}  // namespace headlight::server
