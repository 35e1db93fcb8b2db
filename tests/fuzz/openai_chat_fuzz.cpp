// Any bytes as the body of /v1/chat/completions.
#include "tests/fuzz/openai_body.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return headlight::fuzz::check_body(headlight::server::openai::parse_chat_request, data, size);
}
