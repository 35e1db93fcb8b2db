// Any bytes as the body of a request to /v1: a request, or an HttpError 400 of one line.
#pragma once

#include <string_view>

#include "apps/server/http/http.h"
#include "apps/server/openai/requests.h"
#include "tests/fuzz/trapped.h"

namespace headlight::fuzz {

template <class Parse>
int check_body(const Parse& parse, const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr size_t kLongestMessage = 4096;
  try {
    parse(text);
  } catch (const server::HttpError& error) {
    const server::HttpErrorFields& fields = error.fields();
    require(fields.status == 400 && !fields.message.empty() && !fields.code.empty());
    require(fields.message.size() < kLongestMessage && fields.param.size() < kLongestMessage);
    require(fields.message.find('\n') == std::string::npos);
  }
  return 0;
}

}  // namespace headlight::fuzz
